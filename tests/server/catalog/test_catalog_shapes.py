"""The catalog's relations against PostgreSQL's, and what is in them as a database changes."""

import duckdb
import pytest

from relserve.server.catalog.shapes import read_shapes
from tests.server.catalog.clients import Client, catalog_over

TABLES = "select relname from pg_class where relkind = 'r' and relnamespace <> 11 order by 1"


@pytest.fixture
def con():
    return duckdb.connect()


def rows(con, catalog, sql):
    return con.execute(catalog.translate(sql, Client())).fetchall()


def test_every_relation_can_be_read_in_postgresqls_columns(con):
    catalog_over(con)
    for shape in read_shapes():
        schema = "cat" if shape.schema == "pg_catalog" else "info"
        found = con.execute(f'SELECT * FROM _pg.{schema}."{shape.name}"()')
        assert [name for name, *_ in found.description] == [column.name for column in shape.columns]
        found.fetchall()


def test_a_dropped_table_is_gone_and_a_new_one_there(con):
    catalog = catalog_over(con)
    con.execute('DROP TABLE orders; CREATE TABLE "Of Now" (a INTEGER)')
    assert rows(con, catalog, TABLES + " limit 3") == [("Big Table",), ("Of Now",), ("customers",)]


def test_temporary_tables_are_their_clients_own(con):
    catalog = catalog_over(con)
    other = con.cursor()
    con.execute("CREATE TEMP TABLE mine (a INTEGER)")
    text = "select n.nspname, relpersistence from pg_class c join pg_namespace n on n.oid = relnamespace "
    text += "where relname = 'mine' and pg_table_is_visible(c.oid)"
    assert rows(con, catalog, text) == [("pg_temp_1", "t")]
    assert rows(other, catalog, text) == []


def test_uncommitted_tables_are_their_clients_own(con):
    catalog = catalog_over(con)
    other = con.cursor()
    con.execute("BEGIN; CREATE TABLE begun (a INTEGER)")
    assert ("begun",) in rows(con, catalog, TABLES)
    assert ("begun",) not in rows(other, catalog, TABLES)


def test_other_databases_are_not_shown(con):
    catalog = catalog_over(con)
    con.execute("ATTACH ':memory:' AS second; CREATE TABLE second.main.hidden (a INTEGER)")
    assert ("hidden",) not in rows(con, catalog, TABLES)
    assert rows(con, catalog, "select datname from pg_database") == [("memory",)]
    assert rows(
        con, catalog, "select count(*) from information_schema.tables where table_name = 'hidden'"
    ) == [(0,)]


def test_a_name_is_looked_up_along_the_search_path(con):
    catalog = catalog_over(con)
    con.execute("CREATE TABLE sales.customers (a INTEGER); SET search_path = 'sales'")
    assert rows(con, catalog, "select attname from pg_attribute where attrelid = 'customers'::regclass") == [
        ("a",)
    ]
    assert rows(con, catalog, "select 'main.customers'::regclass::text") == [("main.customers",)]
    assert rows(con, catalog, "select current_schemas(false)") == [(["sales"],)]


def test_names_of_any_letters_are_quoted(con):
    catalog = catalog_over(con)
    con.execute('CREATE TABLE "A ""b" ("Üx" INTEGER PRIMARY KEY, "select" INTEGER)')
    con.execute('CREATE INDEX "I x" ON "A ""b" ("select")')
    text = (
        'select pg_get_indexdef(indexrelid) from pg_index where indrelid = \'"A ""b"\'::regclass order by 1'
    )
    assert rows(con, catalog, text) == [
        ('CREATE INDEX "I x" ON main."A ""b" USING btree ("select")',),
        ('CREATE UNIQUE INDEX "A ""b_pkey" ON main."A ""b" USING btree ("Üx")',),
    ]


def test_an_argument_is_never_taken_for_a_column_of_the_catalogs_own(con):
    catalog = catalog_over(con)
    text = "select count(distinct pg_get_constraintdef(oid)) = count(*) from pg_constraint"
    assert rows(con, catalog, text) == [(True,)]
    text = (
        "select relname from (select oid, relname, 1 as __oid from pg_class) where pg_table_is_visible(oid) "
    )
    assert ("orders",) in rows(con, catalog, text)


DEFAULTS = [
    ("VARCHAR DEFAULT 'it''s'", "'it''s'::text"),
    ("INTEGER DEFAULT -3", "'-3'::integer"),
    ("BOOLEAN DEFAULT true", "true"),
    ("DATE DEFAULT DATE '2020-01-02'", "'2020-01-02'::date"), ("INTEGER DEFAULT nextval('numbers')",
     "nextval('numbers'::regclass)"), ("TIMESTAMP DEFAULT current_timestamp", "CURRENT_TIMESTAMP"),
]  # fmt: skip


@pytest.mark.cells(2)
@pytest.mark.parametrize(("column", "default"), DEFAULTS)
def test_a_default_is_in_postgresqls_words(con, column, default):
    catalog = catalog_over(con)
    con.execute(f"CREATE TABLE made (a {column})")
    text = "select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 'made'::regclass"
    assert rows(con, catalog, text) == [(default,)]


TYPES = [
    ("TINYINT", "smallint"), ("UINTEGER", "bigint"), ("HUGEINT", "numeric"),
    ("DECIMAL(12,3)", "numeric(12,3)"),
    ("DOUBLE", "double precision"), ("TIME", "time without time zone"),
    ("TIMESTAMP_NS", "timestamp without time zone"),
    ("BLOB", "bytea"),
    ("UUID", "uuid"), ("INTERVAL", "interval"), ("STRUCT(a INTEGER)", "json"), ("JSON", "json"),
    ("MAP(VARCHAR, INTEGER)", "json"), ("INTEGER[]", "integer[]"), ("VARCHAR[3]", "text[]"),
    ("INTEGER[][]", "json"), ("STRUCT(a INTEGER)[]", "json"), ("UBIGINT", "numeric(20,0)"),
    ("UBIGINT[]", "numeric(20,0)[]"),
    ("mood", "mood"), ("mood[]", "mood[]"), ("DECIMAL(5,1)[]", "numeric(5,1)[]"), ("BIT", "bit varying"),
]  # fmt: skip


@pytest.mark.cells(4)
@pytest.mark.parametrize(("kind", "word"), TYPES)
def test_a_type_has_postgresqls_name(con, kind, word):
    catalog = catalog_over(con)
    con.execute(f"CREATE TABLE made (a {kind})")
    text = "select format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'made'::regclass"
    assert rows(con, catalog, text) == [(word,)]
