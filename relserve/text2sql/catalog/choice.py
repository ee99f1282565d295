"""Which tables and views a question may be about: those asked for, or those that a bare name reaches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import duckdb

from relserve.errors import UsageError
from relserve.linking.schema import Schema, Table
from relserve.text2sql.catalog.relations import CatalogRelation, names_in, search_path

NUM_NEAREST = 3
_NOTHING = "there is no table to ask: "


class RelationChoice:
    """The relations of a connection, and how each is named from it.

    Args:
        con: gives the databases and schemas in which a bare name is looked for.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, relations: Sequence[CatalogRelation]) -> None:
        self._relations, self._path = relations, search_path(con)
        self._database = self._path[1][0]
        self._reached: dict[str, CatalogRelation] = {}
        for each in sorted(self._visible(), key=lambda each: self._path.index(each.place[:2])):
            self._reached.setdefault(each.name.lower(), each)

    def chosen(self, tables: Iterable[str] | None, schema: str | None) -> list[CatalogRelation]:
        """The relations asked for, in the catalog's order.

        Args:
            tables: names, bare or qualified as in SQL; None for all of the schema.
            schema: 'schema', 'database' or 'database.schema'; None for those that a bare name reaches.

        Raises:
            UsageError: there is none of that name, with the nearest names, or several.
        """
        within = self._within(schema) if schema is not None else None
        if tables is not None:
            wanted = {self._named(name, within).place for name in tables}
            found = [each for each in self._relations if each.place in wanted]
        else:
            found = within if within is not None else [
                each for each in self._relations if self._reached.get(each.name.lower()) is each
            ]  # fmt: skip
        if not found:
            raise UsageError(_NOTHING + self._where_else())
        return found

    def qualifier(self, relation: CatalogRelation) -> tuple[str, ...]:
        """What must stand before the relation's name: nothing where a bare name reaches it."""
        if self._reached.get(relation.name.lower()) is relation:
            return ()
        ambiguous = {each.database.lower() for each in self._relations} | {
            "main"
        }  # as the first of two names
        if relation.database == self._database and relation.schema.lower() not in ambiguous:
            return (relation.schema,)
        return relation.database, relation.schema

    def _visible(self) -> list[CatalogRelation]:
        return [each for each in self._relations if each.place[:2] in self._path]

    def _within(self, schema: str) -> list[CatalogRelation]:
        parts = tuple(part.lower() for part in names_in(schema))
        found = [each for each in self._relations if self._is_in(each, parts)]
        if not found:
            places = {each.schema for each in self._relations} | {each.database for each in self._relations}
            raise UsageError(f"there is no schema {schema!r} with tables{_nearest(schema, places)}")
        return found

    def _is_in(self, relation: CatalogRelation, parts: tuple[str, ...]) -> bool:
        database, schema, _ = (part.lower() for part in relation.place)
        if len(parts) == 1:
            return parts[0] in (database, schema) and (database == parts[0] or self._is_here(relation))
        return parts == (database, schema)

    def _is_here(self, relation: CatalogRelation) -> bool:
        return relation.database in (self._database, self._path[0][0])

    def _named(self, name: str, within: Sequence[CatalogRelation] | None) -> CatalogRelation:
        parts = tuple(part.lower() for part in names_in(name))
        if within is None and len(parts) == 1 and (reached := self._reached.get(parts[0])):
            return reached
        candidates = self._relations if within is None else within
        found = [each for each in candidates if _ends_with(each, parts)]
        here = [each for each in found if self._is_here(each)]
        found = here if len(here) == 1 else found
        if len(found) == 1:
            return found[0]
        if not found:
            raise UsageError(f"there is no table {name!r}{_nearest(name, {e.name for e in candidates})}")
        raise UsageError(
            f"{name!r} may be each of {', '.join(each.full_name for each in found)}; name its schema too"
        )

    def _where_else(self) -> str:
        elsewhere = sorted({f"{each.database}.{each.schema}" for each in self._relations})
        if not elsewhere:
            return "the database has no tables or views; create one first"
        return f"no bare name reaches one; name a schema, as schema := '{elsewhere[0]}'"


def located(
    con: duckdb.DuckDBPyConnection, relations: Sequence[CatalogRelation], schema: Schema
) -> list[tuple[Table, CatalogRelation]]:
    """The tables of a schema that was read from this connection, as its catalog tells them now."""
    choice = RelationChoice(con, relations)
    by_name = {(choice.qualifier(each), each.name): each for each in relations}
    pairs = [(table, by_name.get((table.qualifier, table.name))) for table in schema.tables]
    return [(table, relation) for table, relation in pairs if relation is not None]


def _ends_with(relation: CatalogRelation, parts: tuple[str, ...]) -> bool:
    """Whether the parts name this relation; as in DuckDB 'a.b' is b in schema a, or in database a."""
    database, schema, name = (part.lower() for part in relation.place)
    return parts in ((name,), (schema, name), (database, schema, name)) or (
        parts == (database, name) and schema == "main"
    )


def _nearest(name: str, known: Iterable[str]) -> str:
    by_folded = {each.lower(): each for each in sorted(known)}
    close = get_close_matches(name.lower(), by_folded, NUM_NEAREST, cutoff=0.5)
    listed = [by_folded[each] for each in close] or list(by_folded.values())[:NUM_NEAREST]
    return f"; the nearest are {', '.join(listed)}" if listed else ""
