"""The GPUs of members that run as children of the fleet's owner: each has its own, as far as there are any.

Left alone, every engine would take the first GPU, and nine tenths of its memory.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from relserve.engines.local.cpu import is_cpu_build, workers_of
from relserve.engines.local.start import GPUS
from relserve.errors import UsageError
from relserve.machine.hardware import gpus

SHARE = "gpu_memory_utilization"  # vLLM's argument: an engine's share of its GPU's memory

Children = Mapping[str, Mapping[str, Any]]  # vLLM's arguments of each, by the member's name


def gpus_here() -> list[str]:
    """The GPUs that this process may use, as CUDA's variable names them; none for a vLLM of CPUs."""
    found = [] if is_cpu_build() else gpus()
    told = os.environ.get(GPUS)
    if not found or told is None:
        return [str(number) for number in range(len(found))]
    return [each.strip() for each in told.split(",") if each.strip()]


def share_out(children: Children, there: Sequence[str], where: str) -> dict[str, str]:
    """What CUDA's variable is to say in each child, by name; nothing for a single one, or without GPUs.

    Args:
        there: the GPUs, as of `gpus_here`.
        where: the fleet's file, for messages.

    Raises:
        UsageError: there are not enough, and some child does not say which share of a GPU it takes.
    """
    if len(children) < 2 or not there:
        return {}
    wanted = {name: workers_of(args).number for name, args in children.items()}
    greedy = [name for name, args in children.items() if SHARE not in args]
    if sum(wanted.values()) > len(there) and (greedy or max(wanted.values()) > len(there)):
        raise UsageError(
            f"{where}: {len(children)} members on this machine take {sum(wanted.values())} GPUs, and there "
            f"are {len(there)}: have fewer replicas, or give all of them engine_args with a {SHARE}, such as "
            "0.4, so that several share a GPU; members on other machines take Ray (docs/fleet.md)"
        )
    found, place = dict[str, str](), 0
    for name, num in wanted.items():
        found[name] = ",".join(there[each % len(there)] for each in range(place, place + num))
        place += num
    return found
