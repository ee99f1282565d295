"""Deadlines in the simulator: those with time to spare cost nothing, and claiming tight ones gains little."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.simulator.engine import RelQueryEngineSpec
from lab.simulator.run import simulate
from lab.simulator.workload import RelSpec, RowSpec, poisson_arrivals
from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.state import EngineLimits
from relserve.policies.scheduling.variants import DEFAULT, make

ENGINE = RelQueryEngineSpec(CostModel(2e-4, 5e-3, 2e-4, 1e-2), EngineLimits(64, 2048, 50_000))


def mixed(count: int, rate: float, seed: int, name: str, most_rows: int = 16) -> list[RelSpec]:
    """relQueries of unequal lengths, as a Poisson process."""
    rng = random.Random(f"{name} {seed}")
    found = []
    for number, arrival_s in enumerate(poisson_arrivals(rate, count, rng)):
        cap = rng.choice([2, 10, 40])
        rows = tuple(
            RowSpec(tuple(rng.randrange(10**6) for _ in range(rng.choice([40, 200]))), rng.randint(1, cap))
            for _ in range(rng.randint(1, most_rows))
        )
        found.append(RelSpec(f"{name}{number}", arrival_s, rows, cap, kind=f"{name} {cap}"))
    return found


def latencies(trace: Sequence[RelSpec], patience: float = 2.5) -> Mapping[str, float]:
    outcome = simulate(trace, ENGINE, make(DEFAULT, patience=patience))
    return {each.rel_id: each.latency_s for each in outcome.latencies}


def mean_of(name: str, found: Mapping[str, float]) -> float:
    return float(np.mean([seconds for rel_id, seconds in found.items() if rel_id.startswith(name)]))


def claimed(trace: Sequence[RelSpec], slo_s: float, as_workflows: bool = False) -> list[RelSpec]:
    """The trace with a deadline on every relQuery, which may say that it is a workflow of one step."""
    return [
        replace(rel, slo_s=slo_s, workflow_id=f"w {rel.rel_id}" if as_workflows else "", stage="s")
        for rel in trace
    ]


@pytest.mark.long
@pytest.mark.parametrize("rate", [3.0, 5.0], ids=["busy", "overloaded"])
def test_deadlines_with_time_to_spare_cost_nothing(rate: float) -> None:
    """A minute on every relQuery; overloaded the mean wait is seconds, and the longest beyond a minute."""
    trace = mixed(300, rate, 1, "a")
    assert mean_of("a", latencies(claimed(trace, 60.0))) <= 1.03 * mean_of("a", latencies(trace))


def test_deadlines_that_would_be_missed_are_kept() -> None:
    trace = mixed(300, 3.0, 2, "a")
    late = [
        sum(seconds > 5.0 for seconds in latencies(each).values()) for each in (trace, claimed(trace, 5.0))
    ]
    assert late[0] >= 6
    assert late[1] <= late[0] / 2


@pytest.mark.long
@settings(deadline=None, max_examples=4, derandomize=True)
@given(
    seed=st.integers(0, 1000),
    rates=st.sampled_from([(2.0, 1.0), (3.0, 1.0), (1.0, 2.0)]),
    slo_s=st.sampled_from([1.0, 5.0]),
    as_workflows=st.booleans(),
    others_slo_s=st.sampled_from([None, 60.0]),
)
def test_a_user_who_claims_tight_deadlines_costs_others_at_most_as_much_again(
    seed: int, rates: tuple[float, float], slo_s: float, as_workflows: bool, others_slo_s: float | None
) -> None:
    """150 relQueries of one user, and another's beside them for as long, with time to spare or none given."""
    one = mixed(150, rates[0], seed, "a")
    other = mixed(int(one[-1].arrival_s * rates[1]), rates[1], seed, "b")
    others = other if others_slo_s is None else claimed(other, others_slo_s)
    with_claims = latencies([*claimed(one, slo_s, as_workflows), *others])
    assert mean_of("b", with_claims) <= 2.0 * mean_of("b", latencies([*one, *other]))
