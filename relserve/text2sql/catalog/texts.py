"""The distinct values of a database's text columns."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from typing import NamedTuple

import duckdb

from relserve.linking.schema import ColumnKind, Schema
from relserve.text2sql.catalog.choice import located
from relserve.text2sql.catalog.examples import RowReader
from relserve.text2sql.catalog.relations import asking_views, relations_of

logger = logging.getLogger(__name__)

MOST_OF_COLUMN = 100_000  # values


class ColumnTexts(NamedTuple):
    """Distinct values of a column, all of them or as many as were read."""

    table: str
    column: str
    values: list[str]


def distinct_texts(
    con: duckdb.DuckDBPyConnection,
    schema: Schema,
    most: int,
    seconds: float,
    cancel: threading.Event | None = None,
) -> Iterator[ColumnTexts]:
    """The distinct values of every text column of a schema, without long ones.

    Args:
        most: values in all; each column gets an equal part of what those before it have left.
        seconds: for reading; the columns that come later have none.
        cancel: when set, nothing more is read.
    """
    relations = relations_of(con)
    until = time.monotonic() + seconds
    reader = RowReader(con, asking_views(relations, con), seconds, cancel)
    columns = [
        (table, relation, column)
        for table, relation in located(con, relations, schema)
        for column in table.columns
        if column.kind is ColumnKind.TEXT
    ]
    for at, (table, relation, column) in enumerate(columns):
        share = min(most // (len(columns) - at), MOST_OF_COLUMN)
        values = reader.distinct(relation, column.name, share)
        if len(values) == share or time.monotonic() > until:
            logger.info("of %s.%s only %d values are looked up", relation.full_name, column.name, len(values))
        most -= len(values)
        yield ColumnTexts(table.name, column.name, values)
