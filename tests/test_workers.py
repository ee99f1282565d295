"""How many workers share the tests."""

from __future__ import annotations

import pytest

from tests import workers
from tests.workers import ENGINE_GIB, GIB, WORKER_GIB, num_workers, skip_below


@pytest.mark.parametrize(("cores", "workers"), [(1, 2), (2, 3), (4, 6), (16, 24)])
def test_cores_are_kept_busy_while_some_workers_wait(cores: int, workers: int) -> None:
    assert num_workers(cores, None) == num_workers(cores, 1000 * GIB) == workers


@pytest.mark.parametrize(("spare", "workers"), [(-1.0, 1), (0.5, 1), (1.1, 1), (2.1, 2), (2.9, 2), (3.1, 3)])
def test_what_memory_does_not_hold_is_not_started(spare: float, workers: int) -> None:
    free_gib = ENGINE_GIB + spare * WORKER_GIB
    assert num_workers(2, int(free_gib * GIB)) == workers


def test_what_needs_more_than_is_free_is_skipped_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "free_bytes", lambda: GIB)
    skip_below(1.0, "an engine")
    said = r"^an engine needs 1\.5 GB of free memory; 1\.0 GB are free$"
    with pytest.raises(pytest.skip.Exception, match=said):
        skip_below(1.5, "an engine")
