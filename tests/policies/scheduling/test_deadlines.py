"""Smith's order against all orders."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from relserve.policies.scheduling.deadlines import DeadlineJob, shortest_in_time

SIZES = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 30)), min_size=1, max_size=6)


def total_s(order: tuple[DeadlineJob, ...]) -> float | None:
    """The sum of the times when each is done; None where one is late."""
    done_s = total = 0.0
    for job in order:
        done_s += job.work_s
        total += done_s
        if done_s > job.latest_s:
            return None
    return total


def jobs_of(sizes: list[tuple[int, int]]) -> list[DeadlineJob]:
    return [DeadlineJob(work, work, work + slack, slot) for slot, (work, slack) in enumerate(sizes)]


@settings(deadline=None)
@given(SIZES)
def test_no_order_in_which_all_are_in_time_has_a_lower_total(sizes: list[tuple[int, int]]) -> None:
    jobs = jobs_of(sizes)
    best = min((t for order in permutations(jobs) if (t := total_s(order)) is not None), default=None)
    found = shortest_in_time(jobs)
    order = tuple(sorted(jobs)) if found is None else tuple(found)
    assert sorted(order) == sorted(jobs)
    if best is not None:
        assert total_s(order) == best


def test_where_the_shortest_first_is_in_time_nothing_is_changed() -> None:
    assert shortest_in_time([DeadlineJob(2, 2, 3, 0), DeadlineJob(1, 1, 1, 1)]) is None
    assert shortest_in_time([]) is None


def test_a_long_one_goes_as_late_as_it_may_and_no_later() -> None:
    jobs = [DeadlineJob(10, 10, 20, 0), DeadlineJob(5, 5, 100, 1), DeadlineJob(6, 6, 100, 2)]
    found = shortest_in_time(jobs)
    assert found is not None
    assert [job.slot for job in found] == [1, 0, 2]


def test_who_cannot_be_in_time_does_not_keep_others_from_it() -> None:
    found = shortest_in_time([DeadlineJob(1, 1, -5, 0), DeadlineJob(2, 2, 3, 1), DeadlineJob(3, 3, 100, 2)])
    assert found is not None
    assert total_s(tuple(job for job in found if job.slot)) is not None
