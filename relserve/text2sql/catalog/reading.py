"""A DuckDB connection's tables as the schema that questions are asked of."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Sequence

import duckdb

from relserve.errors import UsageError
from relserve.linking.schema import Column, ColumnKind, Reference, Schema, Table
from relserve.linking.words import identifier_words, stem
from relserve.text2sql.catalog.choice import RelationChoice
from relserve.text2sql.catalog.examples import RowReader
from relserve.text2sql.catalog.relations import (
    ASKS,
    CatalogRelation,
    ColumnFacts,
    Place,
    asking_views,
    binds,
    relations_of,
)

logger = logging.getLogger(__name__)

NUM_VALUES = 20
SECONDS = 5.0
_KINDS = {
    ColumnKind.TEXT: "VARCHAR ENUM",
    ColumnKind.INT: "TINYINT SMALLINT INTEGER BIGINT HUGEINT BIGNUM"
    " UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT",
    ColumnKind.NUM: "DECIMAL FLOAT DOUBLE",
    ColumnKind.DATE: "DATE TIMESTAMP TIMESTAMP_S TIMESTAMP_MS TIMESTAMP_NS",
    ColumnKind.BOOL: "BOOLEAN",
}
_KIND_OF = {name: kind for kind, names in _KINDS.items() for name in names.split()}
_IsUnique = Callable[[CatalogRelation, str], bool]
_KEY_WORDS = frozenset({"id", "key", "code", "no", "nr", "number"})


def read_schema(
    con: duckdb.DuckDBPyConnection,
    tables: Iterable[str] | None = None,
    schema: str | None = None,
    num_values: int = NUM_VALUES,
    seconds: float = SECONDS,
) -> Schema:
    """The tables and views of a connection with what helps to ask of them.

    Keys and references are the declared ones; where a column has none, a reference is inferred from names,
    types and unique rows. Nothing but the chosen tables is read, temporary ones too. A view that may ask a
    model is left out: each trial of a query would ask it anew.

    Args:
        tables: names, bare or qualified as in SQL; None for all that a bare name reaches, or all of `schema`.
        schema: 'schema', 'database' or 'database.schema' to choose from.
        num_values: examples of each text column, the most frequent first; 0 to read no rows at all.
        seconds: for reading rows; what was not read by then is left out.

    Raises:
        UsageError: there is no such table or schema, with the nearest names, or none at all.
    """
    relations = relations_of(con)
    choice = RelationChoice(con, relations)
    asking = asking_views(relations, con)
    chosen = _usable(con, choice.chosen(tables, schema), asking, asked=tables is not None)
    reader = RowReader(con, asking, seconds if num_values else 0.0)
    inferred = _inferred_references(chosen, reader.is_unique)
    return Schema(
        tuple(
            Table(
                name=each.name,
                columns=_columns(at, each, chosen, inferred, reader, num_values),
                comment=each.comment,
                qualifier=choice.qualifier(each),
                key=each.key,
                num_rows=each.num_rows,
            )
            for at, each in enumerate(chosen)
        )
    )


def kind_of(sql_type: str) -> ColumnKind:
    """What comparisons a type of DuckDB allows: 'DECIMAL(4,2)' is a number."""
    if sql_type.endswith("]"):  # a list
        return ColumnKind.OTHER
    return _KIND_OF.get(sql_type.removesuffix(" WITH TIME ZONE").partition("(")[0], ColumnKind.OTHER)


def _usable(
    con: duckdb.DuckDBPyConnection, chosen: Sequence[CatalogRelation], asking: Collection[Place], asked: bool
) -> list[CatalogRelation]:
    """Those of the chosen relations that can be read without asking a model.

    The others are views over llm functions, and views of things that are gone.
    """
    reasons = {each.place: reason for each in chosen if (reason := _unusable(con, each, asking))}
    usable = [each for each in chosen if each.place not in reasons]
    for each in chosen:
        if (reason := reasons.get(each.place)) is None:
            continue
        told = f"the view {each.name!r} cannot be read: {reason}"
        if asked or not usable:
            raise UsageError(told)
        logger.info(told)
    return usable


def _unusable(
    con: duckdb.DuckDBPyConnection, relation: CatalogRelation, asking: Collection[Place]
) -> str | None:
    """Why a relation cannot be asked about; None where it can."""
    if relation.place in asking:
        return ASKS
    if relation.is_view and not binds(con, relation):
        return "a table or file that it reads is not there"
    return None


def _columns(
    at: int,
    relation: CatalogRelation,
    chosen: Sequence[CatalogRelation],
    inferred: dict[tuple[int, str], Reference],
    reader: RowReader,
    num_values: int,
) -> tuple[Column, ...]:
    def values(facts: ColumnFacts) -> tuple[str, ...]:
        is_text = num_values > 0 and kind_of(facts.sql_type) is ColumnKind.TEXT
        return reader.examples(relation, facts.name, num_values) if is_text else ()

    return tuple(
        Column(
            name=facts.name,
            kind=kind_of(facts.sql_type),
            sql_type=facts.sql_type,
            comment=facts.comment,
            references=_declared(relation, facts.name, chosen) or inferred.get((at, facts.name)),
            values=values(facts),
        )
        for facts in relation.columns
    )


def _declared(relation: CatalogRelation, column: str, chosen: Sequence[CatalogRelation]) -> Reference | None:
    """A declared reference to a table that was chosen too; in DuckDB both are in one schema."""
    table, key = relation.foreign.get(column, (None, ""))
    places = {each.place for each in chosen}
    return Reference(table, key) if table and (relation.database, relation.schema, table) in places else None


def _inferred_references(
    relations: Sequence[CatalogRelation], is_unique: _IsUnique
) -> dict[tuple[int, str], Reference]:
    """References by name: `brewery_id`, or `brewery`, to the key of a table brewery or breweries.

    Only where exactly one column can be meant, of the same type and unique in its table; views have no
    declared keys, nor have tables made from files.

    Args:
        is_unique: tells whether a column that no constraint covers is unique in its rows.

    Returns:
        By position of the relation and name of the column.
    """
    found = {}
    for at, relation in enumerate(relations):
        for column in relation.columns:
            if column.name in relation.foreign or column.name in relation.key:
                continue
            keys = [
                (other, key)
                for other in relations
                if other is not relation
                for key in _keys(column, other)
                if key.name in other.unique or other.key == (key.name,) or is_unique(other, key.name)
            ]
            if len(keys) == 1:
                ((other, key),) = keys
                found[at, column.name] = Reference(other.name, key.name)
    return found


def _keys(column: ColumnFacts, other: CatalogRelation) -> list[ColumnFacts]:
    """The columns of another relation that this one's name may mean."""
    words = _stems(column.name)
    entity = words[:-1] if len(words) > 1 and words[-1] in _KEY_WORDS else words
    if entity != _stems(other.name):
        return []
    same_type = [each for each in other.columns if each.sql_type == column.sql_type]
    return [each for each in same_type if _is_key(each, column, other)]


def _is_key(key: ColumnFacts, column: ColumnFacts, other: CatalogRelation) -> bool:
    """Whether the key's name can be meant: the declared key, the same name, `id`, or `brewery_id`."""
    if other.key:
        return other.key == (key.name,)
    return _stems(key.name) in (_stems(column.name), ("id",), (*_stems(other.name), "id"))


def _stems(name: str) -> tuple[str, ...]:
    return tuple(map(stem, identifier_words(name)))
