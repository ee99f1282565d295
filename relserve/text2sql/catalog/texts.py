"""The distinct values of a database's text columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import duckdb

from relserve.linking.schema import Kind, Schema
from relserve.text2sql.catalog.choice import located
from relserve.text2sql.catalog.examples import RowReader
from relserve.text2sql.catalog.relations import asking_views, relations_of


class ColumnTexts(NamedTuple):
    """Distinct values of a column, all of them or as many as were read."""

    table: str
    column: str
    values: list[str]


def distinct_texts(
    con: duckdb.DuckDBPyConnection, schema: Schema, most: int, seconds: float
) -> Iterator[ColumnTexts]:
    """The distinct values of every text column of a schema, without long ones.

    Args:
        most: values in all; each column gets an equal part of what those before it have left.
        seconds: for reading; the columns that come later have none.
    """
    relations = relations_of(con)
    reader = RowReader(con, asking_views(relations, con), seconds)
    columns = [
        (table, relation, column)
        for table, relation in located(con, relations, schema)
        for column in table.columns
        if column.kind is Kind.TEXT
    ]
    for at, (table, relation, column) in enumerate(columns):
        values = reader.distinct(relation, column.name, most // (len(columns) - at))
        most -= len(values)
        yield ColumnTexts(table.name, column.name, values)
