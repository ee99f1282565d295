"""How many workers of pytest-xdist share the tests: as many as the cores keep busy and the memory holds."""

from __future__ import annotations

GIB = 2**30
ENGINE_GIB = 2.0  # the session's engine, a server over it, and the process that hands out the tests
WORKER_GIB = 1.0  # what a worker has grown to at the end of the quick tier


def num_workers(num_cores: int, free_bytes: int | None) -> int:
    """Three for two cores: a quarter of each one's time it waits, for its engine or for somebody's patience.

    Args:
        free_bytes: memory that can be had still; None: nobody tells.
    """
    wanted = num_cores + (num_cores + 1) // 2
    if free_bytes is None:
        return wanted
    fitting = int((free_bytes / GIB - ENGINE_GIB) / WORKER_GIB)
    return max(1, min(wanted, fitting))
