"""The user's own examples: a table of questions, each with the SQL that answers it."""

from __future__ import annotations

import sqlite3
import threading
from itertools import islice

import duckdb

from relserve.errors import UsageError
from relserve.linking.schema import quoted
from relserve.text2sql.catalog.choice import RelationChoice
from relserve.text2sql.catalog.relations import relations_of
from relserve.text2sql.guard.limits import StatementLimits
from relserve.text2sql.guard.watchdog import Watchdog

MOST_EXAMPLES = 10_000  # of a table that are looked at
LONGEST = 4_000  # characters of a question, or of its SQL; longer ones are left out
LIMITS = StatementLimits(seconds=5.0)
_SQL_NAMES = ("sql", "query")


class GoldenExamples:
    """The examples of one table, read once.

    Args:
        table: its name, as in SQL, maybe qualified; it has a column `question`, and one `sql` or `query`.

    Raises:
        UsageError: there is no such table, with the nearest names, or it has other columns.
        LimitError: reading it takes too long, as of a view.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, table: str) -> None:
        needed = f"examples := {table!r} must name a table with the columns question and sql (or query)"
        try:
            relation = RelationChoice(con, relations_of(con)).chosen([table], None)[0]
        except UsageError as error:
            raise UsageError(f"{needed}: {error}") from error
        by_name = {each.name.lower(): each.name for each in relation.columns}
        answer = next((by_name[name] for name in _SQL_NAMES if name in by_name), None)
        if "question" not in by_name or answer is None:
            raise UsageError(f"{needed}; it has {', '.join(by_name.values())}")
        asked, answered = quoted(by_name["question"]), quoted(answer)
        reading = (
            f"SELECT {asked}::VARCHAR AS q, {answered}::VARCHAR AS a FROM {relation.full_name} "
            f"WHERE system.main.length(q) <= {LONGEST} AND system.main.length(a) <= {LONGEST} "
            f"LIMIT {MOST_EXAMPLES}"
        )
        with Watchdog(con, LIMITS).watching():
            self._examples: list[tuple[str, str]] = con.execute(reading).fetchall()
        self._lock = threading.Lock()
        self._index = sqlite3.connect(":memory:", check_same_thread=False)
        self._index.execute(
            "CREATE VIRTUAL TABLE asked USING fts5 (question, content = '', tokenize = 'porter unicode61')"
        )
        self._index.executemany(
            "INSERT INTO asked (rowid, question) VALUES (?, ?)",
            ((at, question) for at, (question, _) in enumerate(self._examples)),
        )

    def nearest(self, question: str, k: int) -> list[tuple[str, str]]:
        """The examples most like a question by BM25, then others in the table's order; at most `k`."""
        found = self._by_words(question, k)
        others = (at for at in range(len(self._examples)) if at not in found)
        return [self._examples[at] for at in (*found, *islice(others, k - len(found)))]

    def _by_words(self, question: str, k: int) -> list[int]:
        words = dict.fromkeys("".join(each if each.isalnum() else " " for each in question).split())
        if not words:
            return []
        with self._lock:
            rows = self._index.execute(
                "SELECT rowid FROM asked WHERE asked MATCH ? ORDER BY rank, rowid LIMIT ?",
                (" OR ".join(f'"{word}"' for word in words), k),
            ).fetchall()
        return [at for (at,) in rows]
