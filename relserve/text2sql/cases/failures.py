"""What goes wrong for one question alone, and what ends all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from relserve.errors import Cancelled, EngineError, ModelError, RelserveError, UnsafeSqlError, UsageError
from relserve.text2sql.cases.case import QuestionCase

_OF_ALL = (Cancelled, ModelError, EngineError, UsageError, duckdb.InterruptException)


def is_of_all(error: Exception) -> bool:
    """Whether an error is no failure of one question or query: nobody can go on after it."""
    return isinstance(error, _OF_ALL) and not isinstance(error, UnsafeSqlError)


def told(error: BaseException) -> str:
    """An error in words; one that is neither relserve's nor DuckDB's, nor of a deadline, with its type."""
    if isinstance(error, (RelserveError, duckdb.Error, TimeoutError)) and str(error):
        return str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


@contextmanager
def alone(case: QuestionCase, stage: str) -> Iterator[None]:
    """What goes wrong inside is the failure of one question."""
    try:
        yield
    except Exception as error:
        if is_of_all(error):
            raise
        case.fail(stage, told(error), error)
