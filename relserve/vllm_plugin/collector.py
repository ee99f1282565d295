"""Python's collector rests while vLLM is imported, which makes a million objects and little garbage.

It would look at all of them again and again: a fifth of the time of the import.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

_is_resting = False


@contextmanager
def resting() -> Iterator[None]:
    """Inside, this process collects no garbage; processes that are forked off it meanwhile do."""
    global _is_resting
    if not gc.isenabled():  # the user's wish, or somebody is inside
        yield
        return
    _is_resting = True
    gc.disable()
    try:
        yield
    finally:
        _is_resting = False
        gc.enable()


def _in_child() -> None:
    global _is_resting
    if _is_resting:
        _is_resting = False
        gc.enable()


os.register_at_fork(after_in_child=_in_child)
