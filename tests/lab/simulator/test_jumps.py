"""Jumping over decode steps changes nothing but the time that a simulation takes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.simulator.outcome import EngineOutcome
from lab.simulator.replica import Replica
from lab.simulator.run import simulate, simulate_replicas
from lab.simulator.workload import RelSpec, lengths_known
from relserve.policies.dispatch.loads import LeastLoaded
from relserve.policies.scheduling.variants import NAMES, make
from tests.lab.simulator.traces import bursty_trace, engine_for

GUARDS = ({}, {"patience": 1.5}, {"starvation_s": 0.3})


def measured(outcome: EngineOutcome) -> EngineOutcome:
    return replace(outcome, policy_s=0.0, wall_s=0.0)


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    guard=st.sampled_from(GUARDS),
    seed=st.integers(0, 10**6),
    kv_tokens=st.sampled_from([1500, 3000, 20_000, 100_000]),
    max_num_seqs=st.sampled_from([4, 32, 256]),
    arrival_s_a_row=st.sampled_from([0.0, 1e-3]),
    caching=st.booleans(),
)
def test_jumping_measures_what_stepping_does(
    name: str,
    guard: dict[str, float],
    seed: int,
    kv_tokens: int,
    max_num_seqs: int,
    arrival_s_a_row: float,
    caching: bool,
) -> None:
    trace = bursty_trace(seed, count=10)
    spec = engine_for(name, kv_tokens, max_num_seqs, arrival_s_a_row, caching)
    jumped = simulate(trace, spec, make(name, **guard))
    stepped = simulate(trace, spec, make(name, **guard), may_jump=False)
    assert measured(jumped) == measured(stepped)


def test_jumping_does_so_where_outputs_are_known() -> None:
    trace, spec = lengths_known(bursty_trace(3)), engine_for("dpu+marginal", 3000)
    jumped = simulate(trace, spec, make("dpu+marginal"))
    stepped = simulate(trace, spec, make("dpu+marginal"), may_jump=False)
    assert measured(jumped) == measured(stepped)


def test_a_router_finds_the_same_load_after_a_jump() -> None:
    def run(may_jump: bool) -> list[EngineOutcome]:
        replicas = [Replica(engine_for("fcfs", 6000), make("fcfs"), may_jump) for _ in range(3)]
        return [measured(o) for o in simulate_replicas(bursty_trace(9, count=40), replicas, LeastLoaded(""))]

    assert run(may_jump=True) == run(may_jump=False)


def test_most_decisions_are_spared_where_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    decisions = []
    begin_step = Replica.begin_step
    monkeypatch.setattr(Replica, "begin_step", lambda *a: decisions.append(1) or begin_step(*a))
    trace: list[RelSpec] = bursty_trace(5, count=4)
    outcome = simulate(trace, engine_for("dpu+aba", 100_000, 256), make("dpu+aba"))
    assert len(decisions) < 0.5 * outcome.num_steps
