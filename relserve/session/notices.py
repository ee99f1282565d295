"""Warnings at the user's own line: rows failed, all answers are the same, a call has no column."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from types import FrameType

from relserve.errors import ConstantPromptWarning, FailureKind, HabitWarning, RowsFailedWarning
from relserve.session.failures_text import failures_text
from relserve.session.history import History

# whose frames are not the user's: ours, and what runs our context managers and partials
_OURS = ("relserve", "relserve_duckdb", "contextlib", "functools")


def summary(history: History, statement: int) -> str:
    """What failed in a statement, in one sentence; "" if nothing did.

    Of a statement with several relQueries each one's rows count, as answers.
    """
    queries = [q for q in history.queries() if q.statement == statement]
    if not any(q.num_failed for q in queries):
        return ""
    kinds = sum((q.failed for q in queries), Counter[FailureKind]())  # the latest alone are listed
    noun = "rows" if len(queries) == 1 else "answers"
    where = f"llm_errors(), statement {statement}"
    return failures_text(sum(q.num_rows for q in queries), kinds, where, noun)


def habits(history: History, statement: int) -> list[str]:
    """A line of each call of a statement that gave all prompts one label; once for a history."""
    found = [
        (q, q.habit.text(q.function))
        for q in history.queries()
        if q.statement == statement and q.habit is not None
    ]
    return [text for q, text in found if text and history.is_first(f"{q.function} {q.template} {q.model}")]


def warn(history: History, statement: int) -> bool:
    """Warn with `habits` and `summary` at the line outside relserve that led here; whether rows failed.

    Raises:
        RowsFailedWarning, HabitWarning: the user's filters turn warnings into errors.
    """
    for line in habits(history, statement):
        warnings.warn(line, HabitWarning, stacklevel=_depth(sys._getframe(0)))
    text = summary(history, statement)
    if text:
        warnings.warn(text, RowsFailedWarning, stacklevel=_depth(sys._getframe(0)))
    return bool(text)


def warn_of_constant(function: str) -> None:
    """Warn that a call has no column, at the line outside relserve that led here."""
    warnings.warn(constant_text(function), ConstantPromptWarning, stacklevel=_depth(sys._getframe(0)))


def constant_text(function: str) -> str:
    """That a call has no column, in words."""
    return (
        f"{function}() has a prompt without any column: it is asked once, and every row gets the same "
        f"answer; to ask about each row give the column: {function}('.. {{}}', column)"
    )


def _depth(frame: FrameType | None) -> int:
    """How many frames above this one the user's own is, counted as `stacklevel` does (1: this one)."""
    depth = 1
    while frame is not None and _is_ours(frame) and frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    return depth


def _is_ours(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).split(".")[0] in _OURS
