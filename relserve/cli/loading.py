"""What goes on while a command imports: a line that says so, and numpy without threads of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from relserve.session.waiting_line import loading_line

LOADING = "loading DuckDB and the llm functions"
THREADS = "OPENBLAS_NUM_THREADS"  # which OpenBLAS reads once, as numpy is imported


@contextmanager
def loading() -> Iterator[None]:
    """A command imports what it runs inside.

    numpy starts a thread for each core as it is imported, a quarter of the time that this takes on two cores,
    and no command multiplies matrices. Processes that a command starts later have the environment as it was.
    """
    decided = THREADS in os.environ
    os.environ.setdefault(THREADS, "1")
    try:
        with loading_line(LOADING):
            yield
    finally:
        if not decided:
            del os.environ[THREADS]
