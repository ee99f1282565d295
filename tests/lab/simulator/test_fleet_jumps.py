"""Steps of a fleet's members that decode the same rows, taken together: the same times, and nothing lost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lab.simulator.budget.engine import NoisyTimes, StepTimeChange
from lab.simulator.budget.run import BudgetedEngineSpec
from lab.simulator.fleet.member import SimulatedMemberSpec
from lab.simulator.fleet.run import Death, FleetOutcome, FleetRequest, simulate
from relserve.policies.budget.variants import make as make_budget
from relserve.policies.dispatch.variants import make
from tests.lab.simulator.fleets import QUICK, SLOW, load, member

EVEN = NoisyTimes(QUICK, noise=0.0, hiccups=0.0)


def both(members: list[SimulatedMemberSpec], router: str = "round_robin") -> list[FleetOutcome]:
    """A run step by step, and one with jumps."""
    return [
        simulate(load(80, rate=15.0), members, make(router), seed=2, may_jump=may) for may in (False, True)
    ]


@pytest.mark.cells(1)
@pytest.mark.parametrize("blocks", [4_000, 200], ids=["roomy", "tight"])
def test_times_are_those_of_single_steps(blocks: int) -> None:
    engine = BudgetedEngineSpec(EVEN, blocks)
    exact, jumps = both(
        [SimulatedMemberSpec(name, engine, lambda: make_budget("static-512")) for name in "ab"]
    )
    for one, other in zip(jumps.served, exact.served, strict=True):
        assert (one.member, one.first_s, one.ended_s) == pytest.approx(
            (other.member, other.first_s, other.ended_s)
        )
    assert jumps.num_steps == exact.num_steps


@pytest.mark.long
@pytest.mark.cells(1)
@pytest.mark.parametrize(
    ("router", "budget"), [("least_loaded", "static-512"), ("prism", "lens"), ("predicted", "slack")]
)
def test_routers_and_budgets_do_about_the_same(router: str, budget: str) -> None:
    members = [member("a", budget=budget), member("b", budget=budget), member("c", SLOW, budget)]
    exact, jumps = both(members, router)
    mean_s = [np.mean([served.e2e_s for served in outcome.served]) for outcome in (exact, jumps)]
    assert mean_s[1] == pytest.approx(mean_s[0], rel=0.1)
    assert jumps.num_reports < exact.num_reports


@pytest.mark.parametrize("name", ["round_robin", "prism", "predicted"])
def test_every_request_is_answered_once_whatever_dies(name: str) -> None:
    members = [member("a", budget="lens"), member("b", SLOW, "slack"), member("c")]
    deaths = [Death(0.5, "a", 0.8), Death(1.5, "c"), Death(2.0, "b", 0.5)]
    outcome = simulate(load(sessions=7), members, make(name), seed=3, deaths=deaths, may_jump=True)
    assert [served.answers for served in outcome.served] == [1] * 60
    assert all(served.spec.arrival_s < served.first_s <= served.ended_s for served in outcome.served)
    assert all(served.tpot_s > 0.003 for served in outcome.served if served.spec.num_output > 1)
    assert max(served.attempts for served in outcome.served) > 1


def test_who_comes_in_the_midst_of_a_series_of_steps_is_in_the_next_one() -> None:
    alone, later = FleetRequest(0.0, 100, 400), FleetRequest(1.0, 100, 2)
    (its,) = [SimulatedMemberSpec("a", BudgetedEngineSpec(EVEN, 4_000), lambda: make_budget("static-512"))]
    outcome = simulate([alone, later], [its], make("round_robin"), may_jump=True)
    first, second = outcome.served
    assert first.ended_s > 3.0
    assert second.ttft_s < 0.03


def test_a_slow_turn_holds_for_the_next_series_of_steps() -> None:
    requests = [FleetRequest(float(at_s), 100, 50) for at_s in range(8)]
    times = replace(EVEN, changes=(StepTimeChange(4.0, 3.0),))
    its = SimulatedMemberSpec("a", BudgetedEngineSpec(times, 4_000), lambda: make_budget("static-512"))
    served = simulate(requests, [its], make("round_robin"), may_jump=True).served
    assert served[-1].tpot_s == pytest.approx(3.0 * served[0].tpot_s, rel=0.05)
