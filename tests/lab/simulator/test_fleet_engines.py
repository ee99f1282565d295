"""A fleet in virtual time: nothing lost or answered twice, deaths, a slow turn, reports that come late."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from lab.simulator.budget.engine import NoisyTimes, StepTimeChange
from lab.simulator.budget.run import BudgetedEngineSpec, serve
from lab.simulator.fleet.member import SimulatedMemberSpec
from lab.simulator.fleet.run import Death, FleetOutcome, FleetRequest, Link, simulate
from lab.simulator.requests.sim_request import RequestSpec
from relserve.policies.budget.variants import make as make_budget
from relserve.policies.dispatch.variants import NAMES, make
from tests.lab.simulator.fleets import QUICK, SLOW, load, member


def went(outcome: FleetOutcome) -> Counter[str]:
    return Counter(served.member for served in outcome.served)


@pytest.mark.cells(2)
@pytest.mark.parametrize("name", NAMES)
def test_every_request_is_answered_once_whatever_dies(name: str) -> None:
    members = [member("a"), member("b", SLOW), member("c")]
    deaths = [Death(0.5, "a", 0.8), Death(1.5, "c"), Death(2.0, "b", 0.5)]
    outcome = simulate(load(sessions=7), members, make(name), seed=3, deaths=deaths)
    assert [served.answers for served in outcome.served] == [1] * 60
    assert all(served.spec.arrival_s < served.first_s <= served.ended_s for served in outcome.served)
    assert max(served.attempts for served in outcome.served) > 1
    assert went(outcome)["a"] > 0


def test_who_comes_while_nobody_is_there_waits() -> None:
    outcome = simulate(load(10), [member("a")], make("predicted"), deaths=[Death(0.0, "a", 3.0)])
    assert [served.answers for served in outcome.served] == [1] * 10
    assert min(served.first_s for served in outcome.served) > 3.0


def test_nobody_who_ever_comes_is_an_error() -> None:
    with pytest.raises(ValueError, match="found no member"):
        simulate(load(10), [member("a")], make("predicted"), deaths=[Death(0.1, "a")])


@pytest.mark.long
def test_a_run_repeats() -> None:
    members = [member("a", budget="lens"), member("b", SLOW, "slack")]
    one, other = (simulate(load(30), members, make("predicted"), seed=5) for _ in range(2))
    assert [s.ended_s for s in one.served] == [s.ended_s for s in other.served]


def test_one_member_is_the_engine_itself() -> None:
    specs = load(40, rate=8.0)
    its = replace(NoisyTimes(QUICK), noise=0.0, hiccups=0.0)
    engine = BudgetedEngineSpec(its, 4_000)
    plain = [RequestSpec(*spec[:5]) for spec in specs]
    alone = serve(plain, engine, make_budget("static-512"), may_jump=False)
    fleet = simulate(
        specs, [SimulatedMemberSpec("a", engine, lambda: make_budget("static-512"))], make("prism")
    )
    assert [s.ttft_s for s in fleet.served] == pytest.approx(alone.ttft_s.tolist())
    assert [s.e2e_s for s in fleet.served] == pytest.approx(alone.e2e_s.tolist())


@pytest.mark.long
def test_a_slow_turn_is_noticed_by_ours_and_not_by_round_robin() -> None:
    members = [member(name, changes=(StepTimeChange(1.0, 3.0),) if name == "a" else ()) for name in "abc"]
    late = {}
    for name in ("round_robin", "predicted"):
        outcome = simulate(load(150, rate=25.0), members, make(name))
        after = [served for served in outcome.served if served.spec.arrival_s > 2.0]
        late[name] = float(np.mean([served.member == "a" for served in after]))
    assert late["round_robin"] == pytest.approx(1 / 3, abs=0.03)
    assert late["predicted"] < 0.22


@pytest.mark.long
def test_old_states_hurt_who_does_not_count_its_own_dispatches() -> None:
    members = [member(name) for name in "abcd"]
    mean = {
        (name, delay_s): float(np.mean([
            served.e2e_s
            for served in simulate(load(150, 40.0), members, make(name), Link(delay_s)).served
        ]))
        for name in ("least_loaded", "predicted") for delay_s in (0.0, 1.0)
    }  # fmt: skip
    assert mean["least_loaded", 1.0] > 1.2 * mean["least_loaded", 0.0]
    assert mean["predicted", 1.0] < 1.15 * mean["predicted", 0.0]


def test_a_held_prompt_is_not_computed_again() -> None:
    specs = [FleetRequest(float(i), 3000, 2, session="s", shared_tokens=2900 if i else 0) for i in range(3)]
    times = NoisyTimes(QUICK, noise=0.0, hiccups=0.0)
    cached = SimulatedMemberSpec(
        "a", BudgetedEngineSpec(times, 4_000), lambda: make_budget("static-512"), cache_tokens=16_000
    )
    first, second, third = (s.ttft_s for s in simulate(specs, [cached], make("round_robin")).served)
    assert second == third < 0.3 * first
    plain = simulate(specs, [cached._replace(cache_tokens=0)], make("round_robin")).served
    assert plain[1].ttft_s == pytest.approx(first)
