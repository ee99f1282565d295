"""What a process that is forked off a resident one does first, as an engine's does when it starts.

It leaves the connections of the clients, who would else not see them end; and it sets itself apart as every
engine of relserve does.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Callable, Iterable

from relserve.vllm_plugin.child_process import PARENT_VARIABLE, set_up_forked

_descriptors: set[int] = set()
_owner: list[int] = []  # pid of the process that listens


def prepare(tell: Callable[[], None]) -> None:
    """Call `tell` before each fork, and leave what was imported out of both processes' garbage collection."""

    def before() -> None:
        tell()
        gc.freeze()

    os.register_at_fork(before=before, after_in_child=gc.enable)


def close_in_child(descriptors: Iterable[int]) -> Callable[[], None]:
    """Have these closed in processes that are forked off; gives what takes that back."""
    if not _owner:
        _owner.append(os.getpid())
        os.register_at_fork(after_in_child=_in_child)
    added = set(descriptors)
    _descriptors.update(added)
    return lambda: _descriptors.difference_update(added)


def _in_child() -> None:
    if os.getppid() != _owner[0]:
        return  # a worker's process, which its engine forked off
    for descriptor in _descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    if os.environ.get(PARENT_VARIABLE) == str(_owner[0]):
        set_up_forked()
