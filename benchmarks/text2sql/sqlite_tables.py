"""SQLite databases read into DuckDB, with keys and types as far as the values bear them out."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from relserve.linking.schema import quoted


class SqliteTable(NamedTuple):
    """A table as SQLite tells of it; `references` maps own columns to (table, column)."""

    name: str
    columns: tuple[tuple[str, str], ...]
    key: tuple[str, ...]
    references: dict[str, tuple[str, str]]
    rows: list[tuple[Any, ...]]


def import_sqlite(file: Path, con: duckdb.DuckDBPyConnection) -> list[SqliteTable]:
    """Make the tables of a SQLite file in DuckDB; a constraint that its rows break is left out."""
    source = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    source.text_factory = lambda raw: raw.decode("utf-8", "replace")
    try:
        tables = [_read(source, name) for name in _names(source)]
    finally:
        source.close()
    done: set[str] = set()
    waiting = list(tables)
    while waiting:
        ready = [table for table in waiting if _targets(table) <= done] or waiting[:1]
        for table in ready:
            _make(table, con)
            done.add(table.name.casefold())
        waiting = [table for table in waiting if table not in ready]
    return tables


def _names(source: sqlite3.Connection) -> list[str]:
    found = source.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return [name for (name,) in found]


def _read(source: sqlite3.Connection, name: str) -> SqliteTable:
    info = source.execute(f"PRAGMA table_info({quoted(name)})").fetchall()
    references = {
        own: (table, target)
        for _, _, table, own, target, *_ in source.execute(f"PRAGMA foreign_key_list({quoted(name)})")
        if target is not None
    }
    return SqliteTable(
        name,
        tuple((column, declared.upper()) for _, column, declared, *_ in info),
        tuple(column for _, column, *_ in sorted((row for row in info if row[5]), key=lambda row: row[5])),
        references,
        source.execute(f"SELECT * FROM {quoted(name)}").fetchall(),
    )


def _targets(table: SqliteTable) -> set[str]:
    return {target.casefold() for target, _ in table.references.values()} - {table.name.casefold()}


def _make(table: SqliteTable, con: duckdb.DuckDBPyConnection) -> None:
    """Create and fill a table with all of its constraints, else with its key only, else with none."""
    values = [[row[at] for row in table.rows] for at in range(len(table.columns))]
    types = [sql_type(declared, found) for (_, declared), found in zip(table.columns, values, strict=True)]
    columns = [f"{quoted(name)} {kind}" for (name, _), kind in zip(table.columns, types, strict=True)]
    rows = pa.table(
        {str(at): _array(kind, found) for at, (kind, found) in enumerate(zip(types, values, strict=True))}
    )
    key = [f"PRIMARY KEY ({', '.join(map(quoted, table.key))})"] if table.key else []
    foreign = [
        f"FOREIGN KEY ({quoted(own)}) REFERENCES {quoted(target)} ({quoted(column)})"
        for own, (target, column) in table.references.items()
    ]
    for constraints in ([*key, *foreign], key, []):
        con.execute("BEGIN")
        try:
            con.execute(f"CREATE TABLE {quoted(table.name)} ({', '.join([*columns, *constraints])})")
            con.from_arrow(rows).insert_into(quoted(table.name))
            con.execute("COMMIT")
            return
        except duckdb.Error:
            con.execute("ROLLBACK")
            if not constraints:
                raise


def _array(kind: str, values: list[Any]) -> pa.Array:
    if kind in ("BIGINT", "DOUBLE"):
        return pa.array(values, pa.int64() if kind == "BIGINT" else pa.float64())
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def sql_type(declared: str, values: list[Any]) -> str:
    """DuckDB's type of a column: what was declared, where all values are of it, else what they are."""
    known = [value for value in values if value is not None]
    numeric = all(isinstance(value, (int, float)) for value in known)
    if known and numeric:
        return "BIGINT" if all(isinstance(value, int) for value in known) else "DOUBLE"
    if not known and any(word in declared for word in ("INT", "REAL", "NUM", "FLOAT", "DOUBLE", "DEC")):
        return "BIGINT" if "INT" in declared else "DOUBLE"
    if declared.startswith(("DATE", "TIME")):
        for wanted in ("DATE", "TIMESTAMP"):
            if _all_cast(known, wanted):
                return wanted
    return "VARCHAR"


def _all_cast(values: list[Any], wanted: str) -> bool:
    if not all(isinstance(value, str) for value in values):
        return False
    back = f"TRY_CAST(v AS {wanted})::VARCHAR IS NOT DISTINCT FROM v"
    row = duckdb.execute(
        f"SELECT coalesce(bool_and({back}), true) FROM unnest($1::VARCHAR[]) AS t(v)", [values]
    )
    return bool(row.fetchall()[0][0])
