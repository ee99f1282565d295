"""How many workers of pytest-xdist share the tests, and what is skipped where memory is short."""

from __future__ import annotations

import pytest

from relserve.machine.capacity import free_bytes

GIB = 2**30
ALONE_GIB = 2.2  # an engine of the embedded model; as much was measured at the end of its tests
ENGINE_GIB = 2.8  # it, what vLLM adds to the worker that asks it, and the process that hands out the tests
WORKER_GIB = 1.7  # what a worker has grown to at the end of the quick tier


def num_workers(num_cores: int, free: int | None) -> int:
    """Three for two cores: a quarter of each one's time it waits, for its engine or for somebody's patience.

    Args:
        free: bytes of memory that can be had still; None: nobody tells.
    """
    wanted = num_cores + (num_cores + 1) // 2
    if free is None:
        return wanted
    fitting = int((free / GIB - ENGINE_GIB) / WORKER_GIB)
    return max(1, min(wanted, fitting))


def skip_below(gib: float, what: str) -> None:
    """Skip the test that asks where less memory is free; its process would be killed, and not it alone."""
    free = free_bytes()
    if free is not None and free < gib * GIB:
        pytest.skip(f"{what} needs {gib:g} GB of free memory; {free / GIB:.1f} GB are free")
