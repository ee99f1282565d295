"""What the pipeline knows of a database: the one seam to where questions are about and SQL runs."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from relserve.linking.schema import Schema
from relserve.linking.values import ValueHit, ValueIndex
from relserve.text2sql.cases.results import ShownRows


class Allowance(NamedTuple):
    """What a query may take beside the database's own limits.

    Attributes:
        seconds: None: any time.
        cancel: when set, the query is ended.
    """

    seconds: float | None = None
    cancel: threading.Event | None = None


ANYTHING = Allowance()


class Values(ValueIndex, Protocol):
    """The texts of a database's columns."""

    def similar(self, text: str, k: int) -> Sequence[tuple[ValueHit, float]]:
        """The values that are like a text, most alike first, with their likeness of 0 to 1; at most `k`."""


class Database(Protocol):
    """A database as far as one caller may see it."""

    def schema(self) -> Schema:
        """The tables that questions may be about."""

    def values(self) -> Values:
        """Where its values are looked up."""

    def explain(self, sql: str, within: Allowance = ANYTHING) -> Sequence[tuple[str, str]]:
        """Bind a query without running it; gives name and type of each column.

        Raises:
            duckdb.Error: DuckDB cannot bind it.
            Cancelled: `within.cancel` was set.
            RelserveError: it is not a query that may run.
        """

    def rows(self, sql: str, within: Allowance = ANYTHING) -> ShownRows:
        """Run a query within limits, reading only; a long result is cut.

        Raises:
            duckdb.Error: it failed.
            Cancelled: `within.cancel` was set.
            RelserveError: it is not a query that may run, or reached a limit.
        """

    def golden(self, question: str, k: int) -> Sequence[tuple[str, str]]:
        """The user's own examples that are most like a question, each with its right SQL; at most `k`."""
