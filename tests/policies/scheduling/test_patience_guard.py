"""Our guard: nobody takes much longer than first come, first served."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from lab.simulator.engine import RelQueryEngineSpec
from lab.simulator.run import simulate
from lab.simulator.workload import RelSpec, RowSpec, poisson_arrivals
from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.guard import PatienceGuard
from relserve.policies.scheduling.priority import Dynamic
from relserve.policies.scheduling.state import EngineLimits
from relserve.policies.scheduling.variants import DEFAULT, make
from tests.policies.states import Ranking, relation, view_of


def guarded(patience: float) -> Ranking:
    return Ranking(Dynamic(), PatienceGuard(patience, grace_s=0.0))


def test_a_long_one_goes_first_when_it_would_else_be_late() -> None:
    large = relation("large", 100, 0.0)
    ranking, gone, first = guarded(3.0), [], []
    ranking.show(view_of([large]))
    for second in range(30):
        small = relation(f"small {second}", 1, float(second))
        first.append(ranking.show(view_of([small], float(second), gone=gone)).order[0])
        gone = [small.rel_id]
    turn = first.index("large")
    assert 2 < turn < 20
    assert set(first[turn:]) == {"large"}


def test_with_endless_patience_the_priorities_stand() -> None:
    large, small = relation("large", 100, 0.0), relation("small", 1, 0.0)
    ranking = guarded(1e9).show(view_of([large, small]))
    assert ranking.show(view_of([], 1e6)).order == ["small", "large"]


def test_the_grace_is_on_top() -> None:
    for grace_s, first in ((0.0, "large"), (1e9, "small")):
        ranking = Ranking(Dynamic(), PatienceGuard(1.0, grace_s)).show(view_of([relation("large", 100)]))
        assert ranking.show(view_of([relation("small", 1, 100.0)], 100.0)).order[0] == first


def test_patience_also_ends_for_a_relquery_that_has_started() -> None:
    large = relation("large", 10, 0.0)
    ranking = guarded(1.0).show(view_of([large]))
    large.first_scheduled_s = 0.0
    assert ranking.show(view_of([large, relation("small", 1, 1e6)], 1e6)).order[0] == "large"


def test_what_was_cancelled_makes_nobody_more_patient() -> None:
    def turn_of_large(is_cancelled: bool) -> int:
        ranking = guarded(2.0)
        ranking.show(view_of([relation("before", 300), relation("large", 100)]))
        cancelled = frozenset(["before"] if is_cancelled else [])
        view = replace(view_of([], 0.1, gone=["before"]), cancelled=cancelled)
        ranking.show(view)
        for second in range(1, 100):
            small = relation(f"small {second}", 1, float(second))
            if ranking.show(view_of([small], float(second))).order[0] == "large":
                return second
            ranking.show(view_of([], float(second), gone=[small.rel_id]))
        return 100

    assert turn_of_large(is_cancelled=True) < turn_of_large(is_cancelled=False) < 100


def worst_over_fcfs(patience: float, cap: int | None) -> float:
    """By how many times its own latency under FCFS a relQuery is later than a second, at worst."""
    rng = random.Random(5)
    rels = [RelSpec(f"long {i}", 1.0 * i, rows_of(rng, 30, 40), cap or 40, kind="long") for i in range(5)]
    for number, arrival_s in enumerate(poisson_arrivals(5.0, 250, rng)):
        rels.append(RelSpec(f"s{number}", arrival_s, rows_of(rng, 8, 5), cap or 5, kind="short"))
    spec = RelQueryEngineSpec(CostModel(2e-4, 5e-3, 2e-4, 1e-2), EngineLimits(64, 2048, 50_000))
    latency = {
        name: {each.rel_id: each.latency_s for each in simulate(rels, spec, policy).latencies}
        for name, policy in (("fcfs", make("fcfs")), ("ours", make(DEFAULT, patience=patience)))
    }
    return max((latency["ours"][name] - 1.0) / fcfs_s for name, fcfs_s in latency["fcfs"].items())


def rows_of(rng: random.Random, count: int, longest: int) -> tuple[RowSpec, ...]:
    prompts = [tuple(rng.randrange(10**6) for _ in range(120)) for _ in range(count)]
    return tuple(RowSpec(prompt, rng.randint(1, longest)) for prompt in prompts)


@pytest.mark.cells(1)
@pytest.mark.parametrize("cap", [None, 1024], ids=["own caps", "caps of 1,024"])
def test_the_promise_holds_whatever_the_caps(cap: int | None) -> None:
    assert worst_over_fcfs(0.0, cap) > 5
    assert worst_over_fcfs(2.5, cap) < 3.0  # a row that was let past cannot always be stopped


def test_steps_that_nobody_decided_count_in_the_pace() -> None:
    def pace(*views: tuple[float, int]) -> float:
        guard = PatienceGuard(3.0)
        ranking = Ranking(Dynamic(), guard).show(view_of([relation("a", 10)]))
        for now_s, num_steps in views:
            ranking.show(replace(view_of([], now_s), num_steps=num_steps))
        return ranking.book.pace_s

    assert pace((1e-4, 1), (2e-4, 1), (3e-4, 1)) == pytest.approx(pace((3e-4, 3)))
