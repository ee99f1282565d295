"""A row's times from vLLM's metrics, whatever the release counts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from relserve.call.relquery import RowTimes
from relserve.engines.local.dialogue import times_of

STAMPS = {"queued_ts": 1.0, "scheduled_ts": 2.0, "first_token_ts": 3.0, "last_token_ts": 4.0}


def output(metrics: Any) -> Any:
    return SimpleNamespace(metrics=metrics)


@pytest.mark.parametrize(("counted", "expected"), [({"num_preemptions": 2}, 2), ({}, 0)])
def test_preemptions_are_0_where_a_release_does_not_count_them(
    counted: dict[str, int], expected: int
) -> None:
    """vLLM up to 0.29 has no such field, and every answer of such an engine failed for want of it."""
    assert times_of([output(SimpleNamespace(**STAMPS, **counted))]) == RowTimes(1.0, 2.0, 3.0, 4.0, expected)


def test_several_requests_of_a_row_end_with_the_last() -> None:
    later = SimpleNamespace(**{**STAMPS, "last_token_ts": 9.0}, num_preemptions=1)
    outputs = [output(SimpleNamespace(**STAMPS)), output(None), output(later)]
    assert times_of(outputs) == RowTimes(1.0, 2.0, 3.0, 9.0, 1)


def test_no_times_where_an_engine_tells_none() -> None:
    assert times_of([output(None)]) is None
