"""The bound: the best that any order can do, held against all orders and against the simulator."""

from __future__ import annotations

import itertools
import random
import statistics

import pytest

from lab.simulator.bound import RelQueryWork, jobs_of, shortest_first
from lab.simulator.engine import RelQueryEngineSpec
from lab.simulator.run import simulate
from lab.simulator.workload import RelSpec, RowSpec
from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.state import EngineLimits
from relserve.policies.scheduling.variants import NAMES, make


def test_jobs_that_come_together_are_done_shortest_first() -> None:
    jobs = [RelQueryWork(0.0, work) for work in (5.0, 1.0, 3.0)]
    assert sorted(shortest_first(jobs)) == [1.0, 4.0, 9.0]
    orders = itertools.permutations([5.0, 1.0, 3.0])
    assert statistics.mean(shortest_first(jobs)) == min(
        statistics.mean(itertools.accumulate(order)) for order in orders
    )


def test_a_shorter_one_interrupts_and_idle_time_is_no_work() -> None:
    assert shortest_first([RelQueryWork(0.0, 4.0), RelQueryWork(1.0, 1.0)]) == [1.0, 5.0]
    assert shortest_first([RelQueryWork(0.0, 4.0), RelQueryWork(1.0, 3.5)]) == [4.0, 6.5]
    assert shortest_first([RelQueryWork(1.0, 1.0), RelQueryWork(10.0, 2.0)]) == [1.0, 2.0]


def test_work_follows_new_tokens_and_outputs_and_adds_up() -> None:
    prompt = tuple(range(64))
    once = RelSpec("once", 0.0, (RowSpec(prompt, 10),), 10)
    twice = RelSpec("twice", 0.0, (RowSpec(prompt, 10), RowSpec(prompt, 10)), 10)
    cost = CostModel(1.0, 0.0, 1.0, 0.0)
    jobs = jobs_of([once, twice], cost, 32, 316.0)
    assert [job.work_s for job in jobs] == pytest.approx([2 * 74.0, 2 * 84.0])


@pytest.mark.cells(5)
@pytest.mark.parametrize("variant", NAMES)
def test_no_variant_is_below_it_where_batches_bring_nothing(variant: str) -> None:
    """Without bases and limits the simulated engine is the fluid one, but for the order inside a step."""
    rng = random.Random(5)
    rows = [
        [RowSpec(tuple(rng.sample(range(10**6), 50)), 8) for _ in range(rng.randint(1, 30))]
        for _ in range(40)
    ]
    trace = [RelSpec(f"r{i}", i * 0.35, tuple(r), 8) for i, r in enumerate(rows)]
    cost = CostModel(5e-4, 1e-6, 1e-3, 1e-6, 1e-6)
    spec = RelQueryEngineSpec(cost, EngineLimits(400, 4096, 10**6, 16))
    total_s = sum(len(r) for r in rows) * (50 * 5e-4 + 8 * 1e-3)
    bound_s = statistics.mean(shortest_first(jobs_of(trace, cost, 16, total_s)))
    assert simulate(trace, spec, make(variant)).mean_s >= 0.9 * bound_s
