"""FROM clauses over foreign keys."""

import pytest

from relserve.linking.joins import JoinError, from_clause, routes
from relserve.linking.schema import Column, ColumnKind, Reference, Schema, Table


def table(name: str, **references: str) -> Table:
    columns = [Column("id", ColumnKind.INT, "INTEGER")]
    for column, target in references.items():
        other, _, key = target.partition(".")
        columns.append(Column(column, ColumnKind.INT, "INTEGER", references=Reference(other, key or "id")))
    return Table(name, tuple(columns), key=("id",))


def test_a_bridge_is_put_between_two_tables():
    schema = Schema((table("actors"), table("films"), table("plays", actor="actors", film="films")))
    assert from_clause(schema, (1, 0)) == (
        'FROM "films" JOIN "plays" ON "plays"."film" = "films"."id" '
        'JOIN "actors" ON "plays"."actor" = "actors"."id"'
    )
    assert from_clause(schema, (2, 0)) == 'FROM "plays" JOIN "actors" ON "plays"."actor" = "actors"."id"'


def test_a_key_of_two_columns_is_one_way():
    schema = Schema((table("lots"), table("bids", lot="lots.number", sale="lots.sale")))
    assert from_clause(schema, (1, 0)) == (
        'FROM "bids" JOIN "lots" ON "bids"."lot" = "lots"."number" AND "bids"."sale" = "lots"."sale"'
    )


def test_two_ways_are_no_way():
    schema = Schema((table("teams"), table("games", home="teams", away="teams")))
    assert routes(schema) == {}
    with pytest.raises(JoinError, match='"games" and "teams"'):
        from_clause(schema, (1, 0))


def test_two_bridges_are_no_way():
    schema = Schema((table("a"), table("b"), table("x", a="a", b="b"), table("y", a="a", b="b")))
    assert (0, 1) not in routes(schema)


def test_a_table_that_is_not_here_joins_nothing():
    assert routes(Schema((table("orders", customer="customers"), table("items")))) == {}


def test_a_table_that_refers_to_itself_joins_nothing():
    assert routes(Schema((table("staff", boss="staff"),))) == {}


def test_a_qualified_table_is_named_in_full_once():
    schema = Schema((Table("Big One", (Column("id", ColumnKind.INT, "INTEGER"),), qualifier=("db", 'a"b')),))
    assert from_clause(schema, (0,)) == 'FROM "db"."a""b"."Big One"'


def test_tables_of_one_name_are_not_joined():
    here, there = table("Items"), table("items", other="Items")
    assert routes(Schema((here, Table(there.name, there.columns, qualifier=("old",))))) == {}
