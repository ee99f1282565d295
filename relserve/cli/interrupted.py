"""What Ctrl-C leaves of a command: which answers are kept, and how to go on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from relserve.errors import Cancelled
from relserve.session.history import QueryRecord
from relserve.session.session import Session

STOPPED = (KeyboardInterrupt, Cancelled, duckdb.InterruptException)


@contextmanager
def told_when_interrupted(session: Session) -> Iterator[None]:
    """A command runs inside; Ctrl-C ends it with a line on what was kept.

    Raises:
        Cancelled: it was interrupted.
    """
    try:
        yield
    except STOPPED as error:
        raise Cancelled(_text(session.history.queries(), keeps=session.cache is not None)) from error


def _text(queries: list[QueryRecord], keeps: bool) -> str:
    asked = [q for q in queries if q.num_distinct]
    if not asked:
        return "interrupted before anything was asked"
    num_done, num_prompts = sum(q.num_done for q in asked), sum(q.num_distinct for q in asked)
    told = f"interrupted: {num_done:,} of {num_prompts:,} prompts were answered"
    if not keeps or all(q.model == "scripted" for q in asked):
        return f"{told}, and none of the answers is kept"
    return f"{told}; answers at temperature 0 are kept, and the same command goes on from there"
