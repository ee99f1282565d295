"""What is read of rows before a question is asked: example values, and whether a key is unique."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import duckdb

from relserve.linking.schema import quoted
from relserve.text2sql.catalog.relations import CatalogRelation, Place, in_transaction

logger = logging.getLogger(__name__)

SAMPLE_ROWS = 20_000  # of a table that are read for example values
NUM_STRETCHES = 10  # of neighbouring rows that a sample consists of
MAX_VALUE_CHARS = 80  # a longer text is no example: cut, it would be a value that is not there
SCANNED_ROWS = 20_000_000  # of a table that are gone through for the distinct values of a column
POLL_S = 0.05  # how often a reading's time and cancel event are looked at
KEY_ROWS = 1_000_000  # of a table whose key's uniqueness is looked at


class RowReader:
    """Reads some rows of tables and views, within a time.

    What it reads is the same as long as the rows are, so that prompts made of it are the same.
    A view, a big table or one elsewhere may take long whatever is asked of it, so that its reading may have
    to be interrupted, which would end a transaction: inside one no view is read, and tables without a limit.

    Args:
        asking: views whose reading may ask a model; they are never read.
        seconds: for all readings.
        cancel: when set, nothing more is read.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        asking: Collection[Place],
        seconds: float,
        cancel: threading.Event | None = None,
    ) -> None:
        self._con, self._asking, self._cancel = con, asking, cancel or threading.Event()
        self._until = time.monotonic() + seconds
        self._in_transaction = in_transaction(con.execute)

    def examples(self, relation: CatalogRelation, column: str, num_values: int) -> tuple[str, ...]:
        """The most frequent values of a text column among some rows; no long ones."""
        name = quoted(column)
        rows = self.rows(
            relation,
            f"SELECT v FROM (SELECT {name}::VARCHAR AS v FROM {_sample(relation)}) "
            f"WHERE system.main.trim(v) <> '' AND system.main.length(v) <= {MAX_VALUE_CHARS} "
            f"GROUP BY v ORDER BY system.main.count_star() DESC, v LIMIT {num_values}",
        )
        return tuple(value for (value,) in rows)

    def distinct(self, relation: CatalogRelation, column: str, most: int) -> list[str]:
        """The distinct values of a text column, at most so many; no long ones, of a huge table a sample.

        Where nearly every row has a value of its own, no more rows are read than values are wanted.
        """
        name = quoted(column)
        num_rows = 0 if relation.is_view else relation.num_rows or 0
        source = relation.full_name
        if num_rows > SCANNED_ROWS:
            source = _sample(relation)
        elif num_rows > 2 * most and self._is_diverse(relation, name):
            source = f"(FROM {source} LIMIT {2 * most})"
        rows = self.rows(
            relation,
            f"SELECT DISTINCT v FROM (SELECT {name}::VARCHAR AS v FROM {source}) "
            f"WHERE system.main.trim(v) <> '' AND system.main.length(v) <= {MAX_VALUE_CHARS} LIMIT {most}",
        )
        return [value for (value,) in rows]

    def _is_diverse(self, relation: CatalogRelation, name: str) -> bool:
        """Whether most rows of a sample have a value of their own."""
        rows = self.rows(
            relation,
            f'SELECT system.main."*"(2, system.main.count(DISTINCT {name})) > system.main.count({name}) '
            f"FROM {_sample(relation)}",
        )
        return rows == [(True,)]

    def is_unique(self, relation: CatalogRelation, column: str) -> bool:
        """Whether a column holds a different value in each row; no where the rows are too many to look at."""
        if (relation.num_rows or 0) > KEY_ROWS:
            return False
        name = quoted(column)
        rows = self.rows(
            relation,
            "SELECT system.main.count_star() > 0 "
            f"AND system.main.count_star() = system.main.count(DISTINCT {name}) "
            f"FROM (SELECT {name} FROM {relation.full_name} LIMIT {KEY_ROWS})",
        )
        return rows == [(True,)]

    def rows(self, relation: CatalogRelation, sql: str) -> list[tuple[Any, ...]]:
        """What a query of this relation alone gives; nothing where it may not be read, or cannot."""
        left = self._until - time.monotonic()
        is_open = not relation.is_view or (not self._in_transaction and relation.place not in self._asking)
        if left <= 0 or not is_open or self._cancel.is_set():
            return []
        is_quick = 0 < (relation.num_rows or 0) <= SAMPLE_ROWS
        try:
            with (
                nullcontext()
                if is_quick or self._in_transaction
                else _interrupted_after(left, self._con, self._cancel)
            ):
                return self._con.execute(sql).fetchall()
        except duckdb.Error as error:  # a file is gone, a value of a view fails to convert, time is up
            logger.info("no values of %s: %s", relation.full_name, error)
            return []


def _sample(relation: CatalogRelation) -> str:
    """Some rows, spread over a big table; a row's number is cheap to choose by."""
    num_rows = relation.num_rows or 0
    if (
        relation.is_view
        or num_rows <= SAMPLE_ROWS
        or any(c.name.lower() == "rowid" for c in relation.columns)
    ):
        return f"(FROM {relation.full_name} LIMIT {SAMPLE_ROWS})"
    size = SAMPLE_ROWS // NUM_STRETCHES
    starts = [at * (num_rows - size) // (NUM_STRETCHES - 1) for at in range(NUM_STRETCHES)]
    stretches = " OR ".join(f"rowid BETWEEN {start} AND {start + size - 1}" for start in starts)
    return f"(FROM {relation.full_name} WHERE {stretches})"


@contextmanager
def _interrupted_after(
    seconds: float, con: duckdb.DuckDBPyConnection, cancel: threading.Event
) -> Iterator[None]:
    lock, over = threading.Lock(), threading.Event()
    until = time.monotonic() + seconds

    def watch() -> None:
        while not over.wait(POLL_S):
            if cancel.is_set() or time.monotonic() > until:
                with lock:  # so that no later statement is hit
                    if not over.is_set():
                        con.interrupt()

    thread = threading.Thread(target=watch, name="relserve-reading-watchdog", daemon=True)
    thread.start()
    try:
        yield
    finally:
        with lock:
            over.set()
        thread.join()
