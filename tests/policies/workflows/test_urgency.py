"""Urgency as published, on the paper's own snapshot and on made-up steps."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.policies.workflows.urgency import budget_s, latest_start_s, urgency
from tests.policies.workflows.steps import queued


def test_a_step_gets_its_share_of_what_is_left_of_the_deadline() -> None:
    """Eq. 5: 100 s - 20 s elapsed, a fifth of the work."""
    step = queued(queued_s=20, deadline_s=100, work_s=3, mean_work_s=2, work_left_s=10)
    assert budget_s(step) == pytest.approx(16)


def test_urgency_grows_with_the_wait() -> None:
    """Eq. 6."""
    step = queued(queued_s=20, deadline_s=100, work_s=3, mean_work_s=2, work_left_s=10)
    assert urgency(step, 20) == pytest.approx(3 - 16)
    assert urgency(step, 30) == pytest.approx(3 - (16 - 10))


def test_the_snapshot_of_table_2() -> None:
    """Request 6 came 42 s after request 1, and goes first: 3.2 s of work in 3.3 s, against 26.7 in 30.4."""
    now_s = 64.4 + 27.0  # at which U is 26.9 for request 6
    sixth = queued(queued_s=64.4, arrival_s=0, deadline_s=64.4 + 3.3, work_s=3.2, work_left_s=3.2)
    first = queued(queued_s=22.4, arrival_s=0, deadline_s=22.4 + 30.4, work_s=26.7, work_left_s=26.7)
    assert urgency(sixth, now_s) == pytest.approx(26.9)
    assert latest_start_s(sixth) == pytest.approx(64.5)
    assert latest_start_s(first) == pytest.approx(26.1)


def test_without_a_deadline_nothing_is_urgent() -> None:
    step = queued(deadline_s=None)
    assert urgency(step, 1000) == -inf
    assert latest_start_s(step) == inf


def test_a_step_without_work_has_no_share() -> None:
    assert budget_s(queued(work_s=0, work_left_s=0)) == 0


def test_the_work_left_holds_at_least_the_step() -> None:
    """An estimate of what is left may be smaller than the step that turned out long."""
    assert budget_s(queued(deadline_s=10, work_s=5, work_left_s=1)) == pytest.approx(10)


@given(now_s=st.floats(-1e6, 1e6), queued_s=st.floats(-1e6, 1e6))
def test_a_clock_that_jumps_back_counts_as_no_wait(now_s: float, queued_s: float) -> None:
    step = queued(queued_s=queued_s)
    assert urgency(step, now_s) >= urgency(step, min(now_s, queued_s))


@given(
    steps=st.lists(
        st.tuples(st.floats(0, 100), st.floats(100, 1000), st.floats(0.1, 20), st.floats(1, 100)), min_size=2
    ),
    later_s=st.floats(0, 1000),
)
def test_sorting_by_latest_starts_is_sorting_by_urgency(
    steps: list[tuple[float, float, float, float]], later_s: float
) -> None:
    """Eq. 7 at any time when all wait."""
    waiting = [queued(queued_s=q, deadline_s=d, work_s=w, work_left_s=w + left) for q, d, w, left in steps]
    now_s = 100 + later_s
    found = [urgency(step, now_s) for step in sorted(waiting, key=latest_start_s)]
    assert found == pytest.approx(sorted(found, reverse=True), abs=1e-6)
