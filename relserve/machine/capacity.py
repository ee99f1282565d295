"""What this process may use of the machine: cores and free memory, within the limits of its container."""

from __future__ import annotations

import os
from pathlib import Path

from relserve.machine import cgroup

_CPUS = Path("/sys/devices/system/cpu")
_NODES = Path("/sys/devices/system/node")
_FREE_OF_NODE = ("MemFree:", "Active(file):", "Inactive(file):", "SReclaimable:")


def num_cores() -> int:
    """Physical cores that this process may use: two threads of one core compute no faster than one."""
    allowed = _allowed_cpus()
    cores = {cgroup.read(_CPUS / f"cpu{cpu}/topology/thread_siblings_list") or str(cpu) for cpu in allowed}
    quota = cgroup.processors()
    return max(1, min(len(cores), len(cores) if quota is None else int(quota)))


def num_idle_cores() -> int:
    """Of these cores, those that other programs leave idle by the load of the last minute; at least one.

    The threads of one operation wait for the slowest: where two share a core with something else, both wait
    at its end, and an engine takes several times as long as with one thread.
    """
    try:
        load = os.getloadavg()[0]  # of the whole machine, also in a container
    except (AttributeError, OSError):  # no such system
        return num_cores()
    return max(1, min(num_cores(), round((os.cpu_count() or 1) - load)))


def free_bytes() -> int | None:
    """Memory that can be had without swapping; None where the system does not tell (it is not Linux)."""
    lines = cgroup.read(Path("/proc/meminfo")).splitlines()
    kib = next((line.split()[1] for line in lines if line.startswith("MemAvailable:")), None)
    if kib is None:
        return None
    left = cgroup.memory_left()
    return max(0, int(kib) * 1024 if left is None else min(int(kib) * 1024, left))


def free_bytes_of_node() -> int | None:
    """The least free memory of a NUMA node whose processors this process may use; None: there is one node."""
    nodes = [each for each in _NODES.glob("node[0-9]*") if each.name[4:].isdigit()]
    if len(nodes) < 2:
        return None
    ours = [node for node in nodes if _numbers(cgroup.read(node / "cpulist")) & _allowed_cpus()]
    return min((_free_of(node) for node in ours), default=None)


def _allowed_cpus() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _free_of(node: Path) -> int:
    """Bytes of a node that are free or hold files, as vLLM counts them; lines are "Node 0 MemFree: 7 kB"."""
    lines = [line.split() for line in cgroup.read(node / "meminfo").splitlines()]
    return 1024 * sum(int(parts[3]) for parts in lines if len(parts) > 3 and parts[2] in _FREE_OF_NODE)


def _numbers(ranges: str) -> set[int]:
    """The numbers of a list such as "0-3,8"."""
    parts = [part.partition("-") for part in ranges.split(",") if part]
    return {number for low, _, high in parts for number in range(int(low), int(high or low) + 1)}
