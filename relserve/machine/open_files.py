"""How many files and sockets this process may have open."""

from __future__ import annotations

import contextlib
import sys

if sys.platform != "win32":
    import resource


def allow_open_files(wanted: int) -> int:
    """Raise this process's limit on open files as far as needed, and as the system lets it.

    Returns:
        How many of the wanted it may have open.
    """
    if sys.platform == "win32":  # which knows no such limit
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(ValueError, OSError):  # macOS allows less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if soft == resource.RLIM_INFINITY else min(wanted, soft)
