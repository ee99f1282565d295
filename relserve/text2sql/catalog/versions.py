"""Which version of a database a schema was read from, so that what is made of it is made once."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import NamedTuple

import duckdb

from relserve.linking.schema import Kind, Schema, Table, quoted
from relserve.text2sql.catalog.choice import located
from relserve.text2sql.catalog.examples import RowReader
from relserve.text2sql.catalog.relations import asking_views, relations_of

HASHED_ROWS = 200_000  # of a table or view that lies in no file, whose texts tell whether it has changed
SECONDS = 2.0
_PATHS = "SELECT database_name, CASE WHEN NOT encrypted THEN path END FROM duckdb_databases()"


class DatabaseVersion(NamedTuple):
    """Which version of a database's texts a schema stands for.

    Attributes:
        key: changes when the values of the schema's text columns may have changed.
        is_in_files: whether all of them lie in readable files on this machine already.
    """

    key: str
    is_in_files: bool


def database_version(
    con: duckdb.DuckDBPyConnection, schema: Schema, seconds: float = SECONDS
) -> DatabaseVersion:
    """The version of what a schema was read from.

    It reckons with columns, numbers of rows, and each database file's size and time of change, its
    write-ahead log's too. What lies in no file is told by a hash of its first texts: what changes behind
    them shows only where the number of rows does.

    Args:
        seconds: for the hashes; what was not hashed by then is told by its columns and number of rows alone.
    """
    relations = relations_of(con)
    paths = dict(con.execute(_PATHS).fetchall())
    reader = RowReader(con, asking_views(relations, con), seconds)
    facts: list[object] = [[path, *_stamps(path)] for path in sorted(filter(None, paths.values()))]
    is_in_files = True
    for table, relation in located(con, relations, schema):
        facts += [relation.place, relation.num_rows, relation.sql, relation.columns]
        if paths.get(relation.database) is None or relation.is_view:
            facts.append(reader.rows(relation, _hash_of(table, relation.full_name)))
            is_in_files = False
    return DatabaseVersion(
        hashlib.sha256(repr(facts).encode("utf-8", "surrogatepass")).hexdigest(), is_in_files
    )


def _hash_of(table: Table, name: str) -> str:
    texts = [quoted(each.name) for each in table.columns if each.kind is Kind.TEXT] or ["NULL"]
    listed = ", ".join(texts)
    hashed = f"sum(hash({listed})::HUGEINT)"  # a sum: equal rows would cancel each other in bit_xor
    return f"SELECT count(*), {hashed} FROM (SELECT {listed} FROM {name} LIMIT {HASHED_ROWS})"


def _stamps(path: str) -> Iterator[tuple[int, int]]:
    """Sizes and times of change of a database file and its write-ahead log, where they are there."""
    for each in (path, f"{path}.wal"):
        try:
            found = os.stat(each)
        except OSError:
            continue
        yield found.st_size, found.st_mtime_ns
