"""The tables and views of a connection, with columns, comments and constraints, from DuckDB's own catalog."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb

from relserve.linking.schema import quoted

TEMPORARY = "temp"  # DuckDB's name of the database that holds what is temporary

_TABLES = """
SELECT database_name, schema_name, table_name, FALSE, comment, estimated_size, NULL
FROM system.main.duckdb_tables() WHERE NOT internal
UNION ALL
SELECT database_name, schema_name, view_name, TRUE, comment, NULL, sql
FROM system.main.duckdb_views() WHERE NOT internal
ORDER BY ALL
"""
_VIEWS = """
SELECT database_name, schema_name, view_name, comment, NULL, sql
FROM system.main.duckdb_views() WHERE NOT internal
"""
_COLUMNS = """
SELECT database_name, schema_name, table_name, column_name, data_type, comment
FROM system.main.duckdb_columns() WHERE NOT internal
ORDER BY database_name, schema_name, table_name, column_index
"""
_CONSTRAINTS = """
SELECT database_name, schema_name, table_name, constraint_type, constraint_column_names,
       referenced_table, referenced_column_names
FROM system.main.duckdb_constraints() WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')
ORDER BY constraint_index
"""
_PATH_ENTRY = re.compile(r'((?:"(?:[^"]++|"")*+"|[^",]++)++)(?:,|$)')
_NAME = re.compile(r'"((?:[^"]++|"")*+)"|([^".]++)')
# A reading of a view that calls one may ask a model: relserve's own functions begin so.
_CALL = re.compile(r'\b(?:llm|text2sql)\w*"?\s*\(', re.IGNORECASE)
_RECORDS = re.compile(r"\bllm_(?:queries|errors|workflows|steps)\s*\(", re.IGNORECASE)
_WORD = re.compile(r"\w+")
ASKS = "reading it asks a model; store it in a table first"

Place = tuple[str, str, str]  # database, schema, name


@dataclass(frozen=True)
class ColumnFacts:
    """A column as DuckDB's catalog tells it."""

    name: str
    sql_type: str
    comment: str | None


@dataclass(frozen=True)
class CatalogRelation:
    """A table or view as DuckDB's catalog tells it.

    Attributes:
        key: columns of the primary key; empty where none is declared.
        unique: columns that alone are unique, as declared.
        foreign: a column's declared reference, as name of a table in the same schema and of its column.
        num_rows: about how many rows a table has; None for a view.
        sql: a view's text; None for a table.
    """

    database: str
    schema: str
    name: str
    comment: str | None
    num_rows: int | None
    sql: str | None
    columns: tuple[ColumnFacts, ...] = ()
    key: tuple[str, ...] = ()
    unique: frozenset[str] = frozenset()
    foreign: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def place(self) -> Place:
        """Database, schema and name."""
        return self.database, self.schema, self.name

    @property
    def full_name(self) -> str:
        """The name as SQL takes it, from everywhere."""
        return ".".join(map(quoted, self.place))

    @property
    def is_view(self) -> bool:
        """Whether it is a view."""
        return self.sql is not None


def relations_of(con: duckdb.DuckDBPyConnection) -> list[CatalogRelation]:
    """Every table and view that the connection reaches, but DuckDB's own ones."""
    columns, constraints = _columns(con), _constraints(con)
    found = []
    for database, schema, name, is_view, comment, num_rows, sql in con.execute(_TABLES).fetchall():
        place = (database, schema, name)
        relation = CatalogRelation(
            database, schema, name, comment, num_rows, (sql or "") if is_view else None
        )
        found.append(_constrained(replace(relation, columns=columns[place]), constraints[place]))
    return found


def views_of(con: duckdb.DuckDBPyConnection) -> list[CatalogRelation]:
    """Every view that the connection reaches, but DuckDB's own ones, without its columns."""
    return [
        CatalogRelation(database, schema, name, comment, num_rows, sql or "")
        for database, schema, name, comment, num_rows, sql in con.execute(_VIEWS).fetchall()
    ]


def in_transaction(run: Callable[[str], Any]) -> bool:
    """Whether a connection is inside BEGIN .. COMMIT: only then two statements share a transaction.

    Args:
        run: the connection's `execute`, which ends an unread result, or its `sql`, which refuses to.
    """
    one, other = (run("SELECT system.main.txid_current()").fetchall() for _ in range(2))
    return bool(one == other)


def binds(con: duckdb.DuckDBPyConnection, relation: CatalogRelation) -> bool:
    """Whether a view's text still means something; a table or file that it reads may be gone."""
    try:
        con.execute(f"DESCRIBE {relation.full_name}").fetchall()
    except duckdb.Error:
        return False
    return True


def search_path(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """The databases and schemas in which a bare name is looked for, the first one first."""
    ((database, schema, path),) = con.execute(
        "SELECT system.main.current_database(), system.main.current_schema(), "
        "system.main.current_setting('search_path')"
    ).fetchall()
    entries = [(database, *names_in(entry))[-2:] for entry in _PATH_ENTRY.findall(path)]
    return [(TEMPORARY, "main"), *(entries or [(database, schema)])]


def names_in(text: str) -> list[str]:
    """The parts of a name that may be qualified and quoted: 'sales."my table"' has two."""
    return [inner.replace('""', '"') or bare.strip() for inner, bare in _NAME.findall(text)]


def asking_views(relations: Iterable[CatalogRelation], con: duckdb.DuckDBPyConnection) -> set[Place]:
    """The views whose reading may ask a model, directly or behind other views and macros."""
    views = [each for each in relations if each.is_view]
    if not views:
        return set()  # DuckDB takes 10 ms to list its 3,000 functions
    macros = con.execute(
        "SELECT function_name, macro_definition FROM system.main.duckdb_functions() "
        "WHERE macro_definition IS NOT NULL AND NOT internal"
    ).fetchall()
    texts = [*macros, *((view.name, view.sql or "") for view in views)]
    asking = {name.lower() for name, text in texts if _CALL.search(_RECORDS.sub("", text or ""))}
    odd = [name.lower() for name, _ in texts if not _WORD.fullmatch(name)]
    words = [(name.lower(), _names_in((text or "").lower(), odd)) for name, text in texts]
    while more := {name for name, used in words if name not in asking and not used.isdisjoint(asking)}:
        asking |= more
    return {view.place for view in views if view.name.lower() in asking}


def _names_in(text: str, odd: Iterable[str]) -> set[str]:
    """The words of a definition, and those of some names that are no plain words."""
    return {*_WORD.findall(text)} | {name for name in odd if name.replace('"', '""') in text}


def _columns(con: duckdb.DuckDBPyConnection) -> defaultdict[Place, tuple[ColumnFacts, ...]]:
    columns: defaultdict[Place, tuple[ColumnFacts, ...]] = defaultdict(tuple)
    for database, schema, table, name, sql_type, comment in con.execute(_COLUMNS).fetchall():
        columns[database, schema, table] += (ColumnFacts(name, sql_type, comment),)
    return columns


def _constraints(con: duckdb.DuckDBPyConnection) -> defaultdict[Place, list[Sequence[Any]]]:
    constraints: defaultdict[Place, list[Sequence[Any]]] = defaultdict(list)
    for database, schema, table, *constraint in con.execute(_CONSTRAINTS).fetchall():
        constraints[database, schema, table].append(constraint)
    return constraints


def _constrained(relation: CatalogRelation, constraints: Iterable[Sequence[Any]]) -> CatalogRelation:
    key: tuple[str, ...] = ()
    unique: set[str] = set()
    foreign: dict[str, tuple[str, str]] = {}
    for kind, names, table, referenced in constraints:
        if kind == "FOREIGN KEY":
            foreign |= {name: (table, column) for name, column in zip(names, referenced, strict=True)}
            continue
        key = tuple(names) if kind == "PRIMARY KEY" else key
        unique |= set(names) if len(names) == 1 else set()
    return replace(relation, key=key, unique=frozenset(unique), foreign=foreign)
