"""How much memory a process may hold: beyond it an allocation fails, and the process lives on.

Without one a single SQL text, as one with repeat(), can want more than the machine has, none of which DuckDB
counts; the kernel then ends the process, and with it everybody's work.
"""

from __future__ import annotations

import os
import sys

from relserve.machine.capacity import free_bytes

if sys.platform == "linux":
    import resource

SHARE = 0.75  # of the memory that is free when the process starts
VARIABLE = "RELSERVE_FORMER_MEMORY_LIMIT"  # what the process had been given, for its children


def limit_memory() -> None:
    """Let this process hold no more than SHARE of the memory that is free now; only Linux can."""
    free = free_bytes()
    if sys.platform != "linux" or free is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = int(free * SHARE)
    if soft == resource.RLIM_INFINITY or limit < soft:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
        os.environ[VARIABLE] = str(soft)


def lift_memory_limit() -> None:
    """Free this process of what its parent took upon itself: an engine's memory is not the parent's."""
    former = os.environ.pop(VARIABLE, None)
    if sys.platform == "linux" and former is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (int(former), hard))
