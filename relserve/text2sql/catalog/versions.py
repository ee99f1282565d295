"""Which version of a database a schema was read from, so that what is made of it is made once."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import NamedTuple

import duckdb

from relserve.linking.schema import ColumnKind, Schema, Table, quoted
from relserve.text2sql.catalog.choice import located
from relserve.text2sql.catalog.examples import RowReader
from relserve.text2sql.catalog.relations import asking_views, relations_of

HASHED_ROWS = 200_000  # of a table or view, whose texts tell whether it has changed
HASHED_TABLES = 50  # where more are asked of, those in a file are told by the file's time of change
SECONDS = 2.0
_FILES = (
    "SELECT database_name, path FROM system.main.duckdb_databases() WHERE type = 'duckdb' AND NOT encrypted"
)


class DatabaseVersion(NamedTuple):
    """Which version of a database's texts a schema stands for.

    Attributes:
        key: changes when the values of the schema's text columns may have changed.
        is_in_files: whether all of them lie in readable files on this machine already.
    """

    key: str
    is_in_files: bool


def database_version(con: duckdb.DuckDBPyConnection, schema: Schema) -> DatabaseVersion:
    """The version of what a schema was read from; what else is written beside it does not count.

    It reckons with columns, numbers of rows, and a hash of the first texts of each table. What changes behind
    them in a DuckDB file shows by its size and time of change, its write-ahead log's too; elsewhere only
    where the number of rows does. What was not hashed within `SECONDS` counts as what lies behind.
    """
    relations = relations_of(con)
    stamps = {name: [path, *_stamps(path)] for name, path in con.execute(_FILES).fetchall() if _is_file(path)}
    reader = RowReader(con, asking_views(relations, con), SECONDS)
    facts: list[object] = []
    is_in_files = True
    for table, relation in located(con, relations, schema):
        facts += [relation.place, relation.num_rows, relation.sql, relation.columns]
        is_file = relation.database in stamps and not relation.is_view
        is_many = is_file and len(schema.tables) > HASHED_TABLES
        hashed = [] if is_many else reader.rows(relation, _hash_of(table, relation.full_name))
        is_whole = bool(hashed) and hashed[0][0] < HASHED_ROWS
        facts.append(hashed)
        if not is_file:
            is_in_files = False
        elif not is_whole:
            facts.append(stamps[relation.database])
    return DatabaseVersion(
        hashlib.sha256(repr(facts).encode("utf-8", "surrogatepass")).hexdigest(), is_in_files
    )


def _is_file(path: str | None) -> bool:
    return path is not None and os.path.isfile(path)


def _hash_of(table: Table, name: str) -> str:
    texts = [quoted(each.name) for each in table.columns if each.kind is ColumnKind.TEXT] or ["NULL"]
    listed = ", ".join(texts)
    # a sum: equal rows would cancel each other in bit_xor
    hashed = f"system.main.sum(system.main.hash({listed})::HUGEINT)"
    return f"SELECT system.main.count_star(), {hashed} FROM (SELECT {listed} FROM {name} LIMIT {HASHED_ROWS})"


def _stamps(path: str) -> Iterator[tuple[int, int]]:
    """Sizes and times of change of a database file and its write-ahead log, where they are there."""
    for each in (path, f"{path}.wal"):
        try:
            found = os.stat(each)
        except OSError:
            continue
        yield found.st_size, found.st_mtime_ns
