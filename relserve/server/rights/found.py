"""What a client's connection finds by a name: tables, views and their like, in its own transaction."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import duckdb

from relserve.server.rights.needs import Path
from relserve.server.rights.policy import Thing
from relserve.text2sql.guard.names import folded

_OF = "FROM system.main.duckdb_{}() WHERE NOT internal AND database_name NOT IN ('_pg', 'system')"
_KINDS = {
    "table": f"SELECT database_name, schema_name, table_name, NULL {_OF.format('tables')} "
    f"UNION ALL SELECT database_name, schema_name, view_name, sql {_OF.format('views')}",
    "macro": f"SELECT DISTINCT database_name, schema_name, function_name, macro_definition "
    f"{_OF.format('functions')} AND macro_definition IS NOT NULL",
    "sequence": "SELECT database_name, schema_name, sequence_name, NULL FROM system.main.duckdb_sequences()",
    "type": f"SELECT database_name, schema_name, type_name, NULL {_OF.format('types')}",
    "index": "SELECT database_name, schema_name, index_name, table_name FROM system.main.duckdb_indexes()",
    "schema": "SELECT database_name, schema_name, '', NULL FROM system.main.duckdb_schemas() "
    "WHERE database_name NOT IN ('_pg', 'system') AND NOT (internal AND schema_name <> 'main')",
}
_SCHEMAS = "SELECT system.main.unnest(system.main.current_schemas(true))"
_HERE = "SELECT system.main.current_database(), system.main.current_schema()"


class FoundObject(NamedTuple):
    """Something in a database; names as `folded` gives them.

    Attributes:
        sql: of a view its statement, of a macro its body, of an index its table; else None.
    """

    database: str
    schema: str
    name: str
    sql: str | None

    @property
    def is_temporary(self) -> bool:
        """Whether it is the client's alone."""
        return self.database == "temp"

    @property
    def is_view(self) -> bool:
        """Whether a table is a view."""
        return self.sql is not None


class Finder:
    """Finds by name, for one look at a statement.

    Args:
        database: the server's own; what is in others has a schema with that one's name before it.
        macros: gives the macros, which it may have kept or reads by what it is given.
    """

    def __init__(
        self, con: duckdb.DuckDBPyConnection, database: str,
        macros: Callable[[Callable[[], list[FoundObject]]], list[FoundObject]],
    ) -> None:  # fmt: skip
        self._con, self.database, self._macros = con, folded(database), macros
        self._all: dict[str, list[FoundObject]] = {}

    def all(self, kind: str) -> list[FoundObject]:
        """All of a kind that users made."""
        if kind not in self._all:
            read = partial(self._read, kind)
            self._all[kind] = self._macros(read) if kind == "macro" else read()
        return self._all[kind]

    def _read(self, kind: str) -> list[FoundObject]:
        rows = self._con.execute(_KINDS[kind]).fetchall()
        return [FoundObject(folded(row[0]), folded(row[1]), folded(row[2]), row[3]) for row in rows]

    def called(self, kind: str, path: Path, within: str | None = None) -> list[FoundObject]:
        """What a name may mean: the client's own temporary one, or those that its parts fit.

        Args:
            within: the schema of the view in which the name stands.
        """
        *outer, name = map(folded, path)
        fit = [each for each in self.all(kind) if each.name == name]
        if len(outer) == 1:
            return [each for each in fit if outer[0] in (each.database, each.schema)]
        if outer:
            return [each for each in fit if outer[-2:] == [each.database, each.schema] or len(outer) > 2]
        if own := [each for each in fit if each.is_temporary]:
            return own
        if first := [each for each in fit if each.schema == within and each.database == self.database]:
            return first
        seen = self._schemas()
        return [each for each in fit if each.schema in seen]

    def thing(self, kind: str, found: FoundObject) -> Thing:
        """What rights are kept for."""
        return self._thing(kind, found.database, found.schema, found.name)

    def schema_of(self, found: FoundObject) -> Thing:
        """Its schema."""
        return self._thing("schema", found.database, found.schema, "")

    def to_make(self, kind: str, path: Path) -> Thing:
        """What a CREATE of that name makes."""
        *outer, name = map(folded, path)
        database, schema = map(folded, self._con.execute(_HERE).fetchall()[0])
        if kind == "schema":
            return self._thing(kind, outer[-1] if outer else database, name, "")
        schemas = {each.schema for each in self.all("schema") if each.database == database}
        if len(outer) > 1:
            database, schema = outer[-2:]
        elif outer and outer[0] in schemas:
            schema = outer[0]
        elif outer:
            database, schema = outer[0], "main"
        return self._thing(kind, database, schema, name)

    def _thing(self, kind: str, database: str, schema: str, name: str) -> Thing:
        return Thing(kind, schema if database == self.database else f"{database}.{schema}", name)

    def _schemas(self) -> frozenset[str]:
        return frozenset(folded(name) for (name,) in self._con.execute(_SCHEMAS).fetchall())
