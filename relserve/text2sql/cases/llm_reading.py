"""A question with words that no table knows, read so that a model that is shown the rows can answer it.

"How many complaints came from each country?" over messages is "How many messages came from each country?" and
the condition llm_filter('Is it a complaint? {message}', message) in the SQL of that.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import sqlglot
from sqlglot import exp


class LlmUse(StrEnum):
    """What an llm call does in the SQL."""

    FILTER = "filter"
    RANK = "rank"
    SHARE = "share"


class LlmReading(NamedTuple):
    """What is asked of the tables in a question's place, and what a model is asked of each row.

    Attributes:
        question: about the tables alone.
        table: whose rows are read, as SQL.
        call: the llm call, as SQL.
        limit: rows of a ranking.
    """

    question: str
    table: str
    call: str
    use: LlmUse
    limit: int

    @property
    def rows_sql(self) -> str:
        """The rows that the call is true of, or the first of the ranking, whatever else the question asks."""
        use = LlmUse.RANK if self.use is LlmUse.RANK else LlmUse.FILTER
        return self._replace(use=use).sql(f"SELECT * FROM {self.table}") or ""

    def sql(self, base: str) -> str | None:
        """SQL that answers the question about the tables, with the llm call; None where that has no place."""
        tree = sqlglot.parse_one(base, read="duckdb")
        if not isinstance(tree, exp.Select):
            return None
        ways = {LlmUse.FILTER: self._filtered, LlmUse.RANK: self._ranked, LlmUse.SHARE: self._shared}
        grown = ways[self.use](tree)
        return None if grown is None else grown.sql("duckdb", normalize_functions="lower")

    def _filtered(self, tree: exp.Select) -> exp.Select | None:
        return tree.where(self.call, dialect="duckdb")

    def _ranked(self, tree: exp.Select) -> exp.Select | None:
        if tree.find(exp.AggFunc) or any(tree.args.get(part) for part in ("group", "order", "distinct")):
            return None
        return tree.order_by(f"{self.call} DESC NULLS LAST", dialect="duckdb").limit(self.limit)

    def _shared(self, tree: exp.Select) -> exp.Select | None:
        counts = [each for each in tree.find_all(exp.Count) if isinstance(each.this, exp.Star)]
        for count in counts:
            count.replace(sqlglot.parse_one(f"avg(CAST({self.call} AS INTEGER))", read="duckdb"))
        return tree if counts else None
