"""How many workers share the tests."""

from __future__ import annotations

import pytest

from tests.workers import ENGINE_GIB, GIB, WORKER_GIB, num_workers


@pytest.mark.parametrize(("cores", "workers"), [(1, 2), (2, 3), (4, 6), (16, 24)])
def test_cores_are_kept_busy_while_some_workers_wait(cores: int, workers: int) -> None:
    assert num_workers(cores, None) == num_workers(cores, 1000 * GIB) == workers


@pytest.mark.parametrize(("spare", "workers"), [(-1.0, 1), (0.5, 1), (1.0, 1), (2.0, 2), (2.9, 2), (3.0, 3)])
def test_what_memory_does_not_hold_is_not_started(spare: float, workers: int) -> None:
    free_gib = ENGINE_GIB + spare * WORKER_GIB
    assert num_workers(2, int(free_gib * GIB)) == workers
