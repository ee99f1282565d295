"""The limits of the control groups (versions 1 and 2) that this process is in, as containers set them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")  # lines of hierarchy:controllers:path; of version 2 it is 0::path


def memory_left() -> int | None:
    """Bytes that the groups let this process have still; None: no limit.

    Files that a group's memory holds count as left: they are given up when it is needed.
    """
    found = [
        *_left(_folders(""), "memory.max", "memory.current", "inactive_file"),
        *_left(_folders("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ]
    return min(found, default=None)


def processors() -> float | None:
    """Processors' time that the groups give this process in each period; None: no limit."""
    found = [read(folder / "cpu.max").split() for folder in _folders("")]
    found += [
        [read(folder / "cpu.cfs_quota_us"), read(folder / "cpu.cfs_period_us")] for folder in _folders("cpu")
    ]
    return min((int(pair[0]) / int(pair[1]) for pair in found if _is_limit(pair)), default=None)


def read(path: Path) -> str:
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
        most, used = read(folder / limit), read(folder / usage)
        if most.isdigit() and used.isdigit():
            yield int(most) - int(used) + _value(read(folder / "memory.stat"), files)


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
    for line in read(_OWN).splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            own = root / path.strip("/")
            yield from (each for each in (own, *own.parents) if each.is_relative_to(root) and each != root)
    yield root
