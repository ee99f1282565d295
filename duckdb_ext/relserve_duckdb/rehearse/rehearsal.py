"""A statement's SELECT made ready to be run with calls that ask nothing, to learn what they would ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from relserve_duckdb.rehearse.filter_shape import FilterShape

Evaluate = Callable[[str, list[Any]], list[tuple[Any, ...]]]  # rows of a SELECT with one parameter


class CannotRehearse(Exception):
    """A statement cannot be rehearsed; its text is the reason, for people."""


@dataclass(frozen=True)
class Rehearsal:
    """A SELECT that may be run as often as needed before the statement itself.

    Attributes:
        plan: gives DuckDB's plan as JSON text; runs nothing.
        batches: runs the SELECT and gives its result piece by piece.
        independent: known to be such that no call's inputs depend on another call's answers.
        shape: the llm filters for which fewer prompts may do; None where the text shows none.
        evaluate: runs a SELECT without llm calls on the same connection.
        may_call: whether it may make llm calls, by its text or else by DuckDB's bound plan.
    """

    plan: Callable[[], str]
    batches: Callable[[], Iterable[Any]]
    independent: bool
    shape: FilterShape | None
    evaluate: Evaluate
    may_call: Callable[[], bool]
