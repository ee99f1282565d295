"""What this process may use of the machine: cores and free memory, within the limits of its container."""

from __future__ import annotations

import os
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")
_CPUS = Path("/sys/devices/system/cpu")


def num_cores() -> int:
    """Physical cores that this process may use: two threads of one core compute no faster than one."""
    allowed = _allowed_cpus()
    cores = {_read(_CPUS / f"cpu{cpu}/topology/thread_siblings_list") or str(cpu) for cpu in allowed}
    return max(1, min(len(cores), _quota() or len(cores)))


def free_bytes() -> int | None:
    """Memory that can be had without swapping; None where the system does not tell (it is not Linux)."""
    lines = _read(Path("/proc/meminfo")).splitlines()
    kib = next((line.split()[1] for line in lines if line.startswith("MemAvailable:")), None)
    if kib is None:
        return None
    free = int(kib) * 1024
    limit, used = _read(_CGROUP / "memory.max"), _read(_CGROUP / "memory.current")
    if limit.isdigit() and used.isdigit():
        free = min(free, int(limit) - int(used) + _reclaimable())
    return max(0, free)


def _allowed_cpus() -> set[int]:
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _quota() -> int | None:
    """Whole processors that the container gives in each period; None: no limit."""
    quota, _, period = _read(_CGROUP / "cpu.max").partition(" ")
    return max(1, int(quota) // int(period)) if quota.isdigit() and period.isdigit() else None


def _reclaimable() -> int:
    """Bytes of files that a container's memory holds and gives up when it is needed."""
    lines = _read(_CGROUP / "memory.stat").splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("inactive_file ")), 0)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
