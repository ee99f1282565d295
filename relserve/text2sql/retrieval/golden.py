"""The user's own examples: a table of questions, each with the SQL that answers it."""

from __future__ import annotations

import duckdb

from relserve.errors import UsageError
from relserve.linking.schema import quoted
from relserve.text2sql.catalog.relations import names_in
from relserve.text2sql.retrieval.spelling import grams, likeness, plain

MOST_EXAMPLES = 10_000  # of a table that are looked at


class GoldenExamples:
    """The examples of one table, read once.

    Args:
        table: its name, as in SQL, maybe with its schema; it has the columns `question` and `sql`.

    Raises:
        UsageError: there is no such table, or it has other columns.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, table: str) -> None:
        name = ".".join(map(quoted, names_in(table)))
        sql = f"""
            SELECT question::VARCHAR, sql::VARCHAR FROM {name}
            WHERE question IS NOT NULL AND sql IS NOT NULL LIMIT {MOST_EXAMPLES}
        """
        try:
            rows = con.execute(sql).fetchall()
        except (duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException) as error:
            raise UsageError(
                f"examples := {table!r} must name a table with the columns question and sql: {error}"
            ) from error
        self._examples = [(question, query, grams(plain(question))) for question, query in rows]

    def nearest(self, question: str, k: int) -> list[tuple[str, str]]:
        """The examples that are most like a question, most alike first; at most `k`."""
        asked = grams(plain(question))
        ranked = sorted(self._examples, key=lambda each: (-likeness(asked, each[2]), each[:2]))
        return [(asked_before, query) for asked_before, query, _ in ranked[:k]]
