"""Schemas as they are read from a DuckDB connection."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from relserve.errors import UnsafeSqlError, UsageError
from relserve.linking.schema import Column, ColumnKind, Reference
from relserve.text2sql.catalog.examples import MAX_VALUE_CHARS, SAMPLE_ROWS
from relserve.text2sql.catalog.reading import kind_of, read_schema
from relserve.text2sql.catalog.versions import database_version
from relserve.text2sql.guard.connection import GuardedConnection

BREWERIES = """
CREATE TABLE breweries (id INTEGER PRIMARY KEY, name VARCHAR UNIQUE, founded DATE);
CREATE TABLE beers (
    id INTEGER PRIMARY KEY, brewery_id INTEGER REFERENCES breweries(id), style VARCHAR, abv DECIMAL(4, 2),
    color ENUM ('pale', 'dark'), tags VARCHAR[]
);
COMMENT ON TABLE beers IS 'what is sold';
COMMENT ON COLUMN beers.abv IS 'strength';
INSERT INTO breweries VALUES (1, 'Ayinger', '1878-01-01'), (2, 'Orval', NULL);
INSERT INTO beers VALUES
    (1, 1, 'Lager', 5, 'pale', []), (2, 1, 'Bock', 7, NULL, []), (3, 2, 'Bock', 6, 'dark', []);
"""


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute(BREWERIES)
        yield con


def _columns(con: duckdb.DuckDBPyConnection, table: str) -> dict[str, Column]:
    return {each.name: each for each in read_schema(con).table(table).columns}


def test_columns_have_kinds_comments_references_and_values(con: duckdb.DuckDBPyConnection) -> None:
    assert _columns(con, "beers") == {
        "id": Column("id", ColumnKind.INT, "INTEGER"),
        "brewery_id": Column(
            "brewery_id", ColumnKind.INT, "INTEGER", references=Reference("breweries", "id")
        ),
        "style": Column("style", ColumnKind.TEXT, "VARCHAR", values=("Bock", "Lager")),
        "abv": Column("abv", ColumnKind.NUM, "DECIMAL(4,2)", "strength"),
        "color": Column("color", ColumnKind.TEXT, "ENUM('pale', 'dark')", values=("dark", "pale")),
        "tags": Column("tags", ColumnKind.OTHER, "VARCHAR[]"),
    }
    beers = read_schema(con).table("beers")
    assert (beers.comment, beers.key, beers.num_rows, beers.sql_name) == (
        "what is sold",
        ("id",),
        3,
        '"beers"',
    )


@pytest.mark.parametrize(
    ("sql_type", "kind"),
    [
        ("DECIMAL(18,3)", ColumnKind.NUM), ("UHUGEINT", ColumnKind.INT),
        ("TIMESTAMP WITH TIME ZONE", ColumnKind.DATE),
        ("TIMESTAMP_NS", ColumnKind.DATE), ("TIME", ColumnKind.OTHER), ("INTEGER[3]", ColumnKind.OTHER),
        ("BLOB", ColumnKind.OTHER),
        ("STRUCT(a VARCHAR)", ColumnKind.OTHER), ("BOOLEAN", ColumnKind.BOOL),
        ("ENUM('a', 'b')", ColumnKind.TEXT),
    ],
)  # fmt: skip
def test_kinds(sql_type: str, kind: ColumnKind) -> None:
    assert kind_of(sql_type) is kind


def test_what_is_temporary_or_a_view_counts_too(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TEMP TABLE mine AS SELECT 'x' AS a; CREATE TEMP VIEW seen AS FROM mine")
    con.execute("CREATE VIEW strong AS SELECT style, brewery_id FROM beers WHERE abv > 5")
    schema = read_schema(con)
    assert [each.name for each in schema.tables] == ["beers", "breweries", "strong", "mine", "seen"]
    assert [each.columns[0].values for each in schema.tables[2:]] == [("Bock",), ("x",), ("x",)]
    assert schema.table("strong").columns[1].references == Reference("breweries", "id")


def test_a_temporary_table_hides_one_of_its_name(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TEMP TABLE beers (mine INTEGER)")
    assert [each.name for each in read_schema(con).table("beers").columns] == ["mine"]
    hidden = read_schema(con, tables=["memory.main.beers"]).table("beers")
    assert con.execute(f"SELECT count(*) FROM {hidden.sql_name}").fetchall() == [(3,)]
    with pytest.raises(UsageError, match=r"'main\.beers' may be each"):
        read_schema(con, tables=["main.beers"])


def test_other_schemas_and_databases_by_name(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE SCHEMA sales; CREATE TABLE sales.orders (beer_id INTEGER); CREATE TABLE sales.beers (a INT)"
    )
    con.execute('ATTACH \':memory:\' AS other; CREATE TABLE other.main."odd ""name" (a INTEGER)')
    assert {each.name for each in read_schema(con).tables} == {"beers", "breweries"}
    names = [each.sql_name for each in read_schema(con, schema="sales").tables]
    assert names == ['"sales"."beers"', '"sales"."orders"']
    chosen = read_schema(con, tables=['other."odd ""name"', "BEERS", "orders"]).tables
    assert [each.sql_name for each in chosen] == [
        '"beers"',
        '"sales"."orders"',
        '"other"."main"."odd ""name"',
    ]
    for table in chosen:
        con.execute(f"SELECT count(*) FROM {table.sql_name}").fetchall()
    assert chosen[1].columns[0].references == Reference("beers", "id")
    con.execute("USE other")
    assert [each.sql_name for each in read_schema(con).tables] == ['"odd ""name"']


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(tables=["bears"]), "there is no table 'bears'; the nearest are beers"),
        (dict(schema="sale"), "there is no schema 'sale' with tables; the nearest are sales"),
        (dict(tables=["twice"]), "'twice' may be each of"),
        (dict(schema="sales", tables=["beers"]), "there is no table 'beers'"),
    ],
)  # fmt: skip
def test_an_unknown_name_is_an_error_with_the_nearest(
    con: duckdb.DuckDBPyConnection, options: dict[str, object], message: str
) -> None:
    con.execute("CREATE SCHEMA sales; CREATE SCHEMA more; CREATE TABLE sales.twice (a INT)")
    con.execute("CREATE TABLE more.twice (a INT)")
    with pytest.raises(UsageError, match=message):
        read_schema(con, **options)  # type: ignore[arg-type]


def test_an_empty_database_is_an_error_that_says_so() -> None:
    with duckdb.connect() as con, pytest.raises(UsageError, match="create one first"):
        read_schema(con)


def test_references_are_inferred_from_names_types_and_rows() -> None:
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE owners AS SELECT * FROM (VALUES (1, 'Ann', 1), (2, 'Bob', 1)) t(id, name, flat)"
        )
        con.execute("CREATE TABLE flat AS SELECT 1 AS id UNION ALL SELECT 1")  # not unique
        con.execute("CREATE TABLE city AS SELECT 'x' AS id")  # of another type
        con.execute(
            "CREATE VIEW pets AS SELECT 1 AS id, 2 AS owner_id, 1 AS owner, 3 AS city_id, 4 AS keeper_id"
        )
        columns = read_schema(con).table("pets").columns
        assert {each.name: each.references for each in columns if each.references} == {
            "owner_id": Reference("owners", "id"),
            "owner": Reference("owners", "id"),
        }
        assert all(each.references is None for each in read_schema(con).table("owners").columns)
        con.execute("CREATE TABLE owner AS SELECT 7 AS id")  # a second table of that meaning
        assert all(each.references is None for each in read_schema(con).table("pets").columns)


def test_only_what_is_asked_for_is_read(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE VIEW failing AS SELECT error('read')::VARCHAR AS a FROM beers")
    assert [each.name for each in read_schema(con, tables=["beers"]).tables] == ["beers"]
    assert read_schema(con).table("failing").columns[0].values == ()
    assert all(each.values == () for _, each in read_schema(con, num_values=0).columns)


def test_a_view_that_may_ask_a_model_is_not_read(con: duckdb.DuckDBPyConnection) -> None:
    asked: list[str] = []
    con.create_function("llm_like", lambda text: asked.append(text) or text, ["VARCHAR"], "VARCHAR")  # type: ignore
    con.execute(
        "CREATE MACRO rated(x) AS llm_like(x); CREATE VIEW first AS SELECT rated(style) AS a FROM beers"
    )
    con.execute("CREATE VIEW second AS FROM first")
    con.execute("""CREATE VIEW "my ""odd"" one" AS FROM second""")
    con.execute("""CREATE VIEW last AS FROM "my ""odd"" one\"""")
    con.execute("CREATE TABLE llm_notes AS SELECT 'llm' AS a; CREATE VIEW notes AS FROM llm_notes")
    schema = read_schema(con)
    database_version(con, schema)
    assert {each.name for each in schema.tables} == {"beers", "breweries", "llm_notes", "notes"}
    with pytest.raises(UsageError, match="'second' cannot be read: reading it asks a model; store it in a"):
        read_schema(con, tables=["second", "beers"])
    with pytest.raises(UnsafeSqlError, match="is no table that generated SQL may read"):
        GuardedConnection(con).rows("SELECT count(*) FROM second WHERE a IS NOT NULL")
    assert asked == []


def test_a_view_of_what_is_gone_is_left_out(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE gone (a INT); CREATE VIEW ghost AS FROM gone; DROP TABLE gone")
    assert {each.name for each in read_schema(con).tables} == {"beers", "breweries"}
    with pytest.raises(UsageError, match="'ghost' cannot be read"):
        read_schema(con, tables=["ghost"])


def test_a_view_that_takes_too_long_is_given_up(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE VIEW many AS SELECT range AS i FROM range(10000000)")
    con.execute("CREATE VIEW slow AS SELECT max(hash(a.i + b.i))::VARCHAR AS v FROM many a, many b")
    schema = read_schema(con, tables=["slow"], seconds=0.2)
    assert schema.table("slow").columns[0].values == ()
    assert con.execute("SELECT count(*) FROM beers").fetchall() == [(3,)]
    con.execute("BEGIN")
    assert read_schema(con, tables=["slow"], seconds=0.2).table("slow").columns[0].values == ()
    con.execute("SELECT 1; COMMIT")


def test_a_big_table_is_sampled_everywhere_without_long_texts(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "CREATE TABLE big AS SELECT if(i >= 5 * $1, 'late', 'early') AS a, repeat('x', $2) AS b "
        "FROM range(6 * $1) t(i)",
        [SAMPLE_ROWS, MAX_VALUE_CHARS + 1],
    )
    values = [each.values for each in read_schema(con, tables=["big"]).table("big").columns]
    assert values == [("early", "late"), ()]


def test_the_version_changes_with_the_values(tmp_path: Path) -> None:
    def version() -> str:
        return database_version(con, read_schema(con, num_values=0)).key

    with duckdb.connect() as con:
        con.execute(BREWERIES)
        first = version()
        assert version() == first
        con.execute("UPDATE beers SET style = 'Stout' WHERE id = 1")
        assert (second := version()) != first
        con.execute("CREATE VIEW more AS SELECT 1")
        assert version() != second
    path = str(tmp_path / "beers.duckdb")
    with duckdb.connect(path) as con:
        con.execute(BREWERIES)
        third = version()
    with duckdb.connect(path) as con:
        con.execute("UPDATE beers SET style = 'Stout' WHERE id = 1")
        assert version() not in (third, second, first)


def test_the_version_changes_where_equal_rows_come_in_pairs(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TEMP TABLE colors AS SELECT unnest(['pale', 'pale', NULL, NULL]) AS a")
    first = database_version(con, schema := read_schema(con, num_values=0)).key
    con.execute("UPDATE colors SET a = 'dark' WHERE a = 'pale'")
    assert (second := database_version(con, schema).key) != first
    con.execute("UPDATE colors SET a = 'dark'")
    assert database_version(con, schema).key != second
