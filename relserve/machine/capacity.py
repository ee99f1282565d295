"""What this process may use of the machine: cores and free memory, within the limits of its container."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_CPUS = Path("/sys/devices/system/cpu")
_NODES = Path("/sys/devices/system/node")
_FREE_OF_NODE = ("MemFree:", "Active(file):", "Inactive(file):", "SReclaimable:")
_ROOT = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")  # lines of hierarchy:controllers:path; of version 2 it is 0::path


def num_cores() -> int:
    """Physical cores that this process may use: two threads of one core compute no faster than one."""
    allowed = _allowed_cpus()
    cores = {_read(_CPUS / f"cpu{cpu}/topology/thread_siblings_list") or str(cpu) for cpu in allowed}
    quota = _processors()
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
    lines = _read(Path("/proc/meminfo")).splitlines()
    kib = next((line.split()[1] for line in lines if line.startswith("MemAvailable:")), None)
    if kib is None:
        return None
    left = memory_left()
    return max(0, int(kib) * 1024 if left is None else min(int(kib) * 1024, left))


def free_bytes_of_node() -> int | None:
    """The least free memory of a NUMA node whose processors this process may use; None: there is one node."""
    nodes = [each for each in _NODES.glob("node[0-9]*") if each.name[4:].isdigit()]
    if len(nodes) < 2:
        return None
    ours = [node for node in nodes if _numbers(_read(node / "cpulist")) & _allowed_cpus()]
    return min((_free_of(node) for node in ours), default=None)


def _allowed_cpus() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _free_of(node: Path) -> int:
    """Bytes of a node that are free or hold files, as vLLM counts them; lines are "Node 0 MemFree: 7 kB"."""
    lines = [line.split() for line in _read(node / "meminfo").splitlines()]
    return 1024 * sum(int(parts[3]) for parts in lines if len(parts) > 3 and parts[2] in _FREE_OF_NODE)


def _numbers(ranges: str) -> set[int]:
    """The numbers of a list such as "0-3,8"."""
    parts = [part.partition("-") for part in ranges.split(",") if part]
    return {number for low, _, high in parts for number in range(int(low), int(high or low) + 1)}


def memory_left() -> int | None:
    """Bytes that control groups (versions 1 and 2) let this process have still; None: no limit.

    Files that a group's memory holds count as left: they are given up when it is needed.
    """
    found = [
        *_left(_folders(""), "memory.max", "memory.current", "inactive_file"),
        *_left(_folders("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ]
    return min(found, default=None)


def _processors() -> float | None:
    """Processors' time that the groups give this process in each period; None: no limit."""
    found = [_read(folder / "cpu.max").split() for folder in _folders("")]
    found += [
        [_read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")]
        for folder in _folders("cpu")
    ]
    return min((int(pair[0]) / int(pair[1]) for pair in found if _is_limit(pair)), default=None)


def _read(path: Path) -> str:
    """A file's text; "" where there is none."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _is_limit(pair: list[str]) -> bool:
    """Whether these are a quota and its period; where there is none the quota is "max" or -1."""
    return len(pair) == 2 and all(each.isdigit() and int(each) > 0 for each in pair)


def _left(folders: Iterator[Path], limit: str, usage: str, files: str) -> Iterator[int]:
    for folder in folders:
        most, used = _read(folder / limit), _read(folder / usage)
        if most.isdigit() and used.isdigit():
            yield int(most) - int(used) + _value(_read(folder / "memory.stat"), files)


def _value(text: str, name: str) -> int:
    """The number behind a name, in lines of them; 0 where it has none."""
    return next((int(line.split()[1]) for line in text.splitlines() if line.startswith(f"{name} ")), 0)


def _folders(controller: str) -> Iterator[Path]:
    """The group that this process is in, and those around it; a limit of each holds.

    Inside a container the path may be the host's, which is not there: then the root alone counts.

    Args:
        controller: of version 1; "" for version 2.
    """
    root = _ROOT / controller
    for line in _read(_OWN).splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            own = root / path.strip("/")
            yield from (each for each in (own, *own.parents) if each.is_relative_to(root) and each != root)
    yield root
