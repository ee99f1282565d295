"""Which tables and views a name in generated SQL means, and whether it may read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import duckdb

from relserve.errors import UnsafeSqlError
from relserve.linking.schema import Schema, quoted
from relserve.text2sql.catalog.relations import asking_views, views_of
from relserve.text2sql.guard.names import folded

_TABLES = """
    SELECT database_name, schema_name, table_name FROM system.main.duckdb_tables() WHERE NOT internal
    UNION ALL
    SELECT database_name, schema_name, view_name FROM system.main.duckdb_views() WHERE NOT internal
"""
_CURRENT = "SELECT system.main.current_database(), system.main.current_schema()"
_MAX_SHOWN = 20


Path = tuple[str, ...]  # a table's name, after those of its database and schema where they are given


class CatalogTable(NamedTuple):
    """A table or view of the catalog, its names folded."""

    database: str
    schema: str
    name: str


class Tables(NamedTuple):
    """The catalog's tables and views, and those that may be read.

    Attributes:
        known: all that users made.
        current: the database and schema in which a bare name is looked for.
        allowed: those that may be read.
        shown: their names, as they are written in SQL.
    """

    known: frozenset[CatalogTable]
    current: tuple[str, str]
    allowed: frozenset[CatalogTable]
    shown: tuple[str, ...]

    def meant(self, path: Sequence[str]) -> frozenset[CatalogTable]:
        """The tables that a name can mean: one, but for names that only schemas out of the path have."""
        return _meant(self.known, self.current, path)

    def of_current_database(self) -> Tables:
        """The same, where only those of the current database may be read."""
        here = frozenset(entry for entry in self.allowed if entry.database == self.current[0])
        return self._replace(allowed=here, shown=tuple(sorted(quoted(entry.name) for entry in here)))

    def check(self, path: Sequence[str]) -> frozenset[CatalogTable]:
        """What a name means; refuse one that means, or could mean, another table than an allowed one.

        Args:
            path: the name, after those of its database and schema where they are given.

        Raises:
            UnsafeSqlError: lists the tables that may be read.
        """
        meant = self.meant(path)
        if not meant or not meant <= self.allowed:
            raise UnsafeSqlError(
                f"{'.'.join(map(quoted, path))} is no table that generated SQL may read here; it may read "
                f"{_listed(self.shown)}"
            )
        return meant


def read_tables(con: duckdb.DuckDBPyConnection, allowed: Schema | None, may_ask: bool = False) -> Tables:
    """Read the catalog.

    Args:
        con: where the statement will run.
        allowed: the tables that may be read; None for all that users made. What is not in the catalog is no
            table, whatever files and Python variables there are of its name.
        may_ask: whether views whose reading may ask a model are among them.
    """
    known = frozenset(CatalogTable(*map(folded, row)) for row in con.execute(_TABLES).fetchall())
    database, schema = con.execute(_CURRENT).fetchall()[0]
    current = (folded(database), folded(schema))
    asked = () if may_ask else asking_views(views_of(con), con)
    asking = frozenset(CatalogTable(*map(folded, place)) for place in asked)
    if allowed is None:
        readable = known - asking
        return Tables(known, current, readable, tuple(sorted(quoted(entry.name) for entry in readable)))
    found = [_meant(known, current, (*table.qualifier, table.name)) for table in allowed.tables]
    readable = frozenset(entry for entries in found if len(entries) == 1 for entry in entries) - asking
    return Tables(known, current, readable, tuple(table.sql_name for table in allowed.tables))


def _meant(
    known: Iterable[CatalogTable], current: tuple[str, str], path: Sequence[str]
) -> frozenset[CatalogTable]:
    """What a name can mean: a temporary table before the current schema's, and these before all others."""
    *before, name = map(folded, path)
    found = {entry for entry in known if entry.name == name and _fits(entry, before)}
    preferred = (("temp", "main"), current) if not before else ()
    for place in preferred:
        if here := {entry for entry in found if entry[:2] == place}:
            return frozenset(here)
    return frozenset(found)


def _fits(entry: CatalogTable, before: Sequence[str]) -> bool:
    """Whether the names before a table's can be this one's; a single one is a schema's or a database's."""
    if len(before) == 1:
        return before[0] in (entry.schema, entry.database)
    return not before or list(entry[:2]) == list(before)


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "none"
    more = len(names) - _MAX_SHOWN
    return ", ".join(names[:_MAX_SHOWN]) + (f" and {more} more" if more > 0 else "")
