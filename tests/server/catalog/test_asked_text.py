"""Which texts are translated, and which are left as they are."""

import re

import duckdb
import pytest

from tests.server.catalog.clients import Client, catalog_over


@pytest.fixture(scope="module")
def catalog():
    return catalog_over(duckdb.connect())


LEFT_ALONE = [
    "select * from customers",
    "select 'pg_class' as pg_name from customers",
    "select pg_oid, t.pg_class from main.pg_things t",
    "with pg_class as (select 1 as a) select a from pg_class",
    "select oid, relname from main.pg_class",
    "select * from sales.information_schema",
    "select llm('is it pg_catalog?', name) from customers",
    "this is no sql about pg_class",
    "select Name as Total, 1 from customers where email = 'pg_class'",
    "select count(*) from 'pg_file.csv'",
    "alter table customers rename to pg_stat_activity",
]


@pytest.mark.parametrize("sql", LEFT_ALONE)
def test_a_text_that_asks_nothing_of_the_catalog_stays(catalog, sql):
    assert catalog.translate(sql, Client()) == sql


def test_parameters_stay(catalog):
    translated = catalog.translate(
        "select relname from pg_class where oid = $1 and relkind = any($2)", Client()
    )
    assert "$1" in translated
    assert "ANY($2)" in translated


def test_a_users_own_table_of_a_catalogs_name_is_meant():
    con = duckdb.connect()
    catalog = catalog_over(con)
    con.execute("CREATE TABLE pg_user (usename VARCHAR); INSERT INTO pg_user VALUES ('own')")
    assert con.execute(catalog.translate("select * from pg_user", Client())).fetchall() == [("own",)]


@pytest.mark.parametrize(
    "sql", ["select pg_cancel_backend(8)", "select * from pg_stat_activity", "select pid from pg_roles"]
)
def test_who_asks_is_not_told_by_the_text(catalog, sql):
    translated = [catalog.translate(sql, Client(pid=pid)) for pid in (7, 8)]
    assert translated[0] == translated[1] != sql
    assert not re.search(r"[0-9a-f]{16}", translated[0])


IN_DUCKDBS_WORDS = [
    ("select to_timestamp('2024-01-02', 'YYYY-MM-DD')::date::text", [("2024-01-02",)]),
    ("select to_char(timestamp '2024-01-02 03:04:05', 'YYYY-MM')", [("2024-01",)]),
    ("select 'customers'::regclass::text", [("customers",)]),
]


@pytest.mark.parametrize(("sql", "rows"), IN_DUCKDBS_WORDS)
def test_what_duckdb_refused_is_said_in_its_words(sql, rows):
    con = duckdb.connect()
    said = catalog_over(con).in_duckdbs_words(sql)
    assert said is not None
    assert con.execute(said).fetchall() == rows


def test_a_text_that_would_be_the_same_is_not_tried_again(catalog):
    assert catalog.in_duckdbs_words("select nothing from customers") is None
    assert catalog.in_duckdbs_words("selec nothing") is None
    assert catalog.in_duckdbs_words("set x = b'' 1") is None  # sqlglot reads it, and cannot write it
    assert catalog.in_duckdbs_words("select map {1: '#} , {'a': 'x'} ,") is None


def test_a_quoted_null_in_an_array_is_a_text(catalog):
    sql = """select count(*) from pg_get_keywords() where word <> all ('{a,"null","b c"}'::text[])"""
    assert "['a', 'null', 'b c']" in catalog.translate(sql, Client())


@pytest.mark.parametrize(
    "sql", ["select pg_typeof(a)::regtype from t", "select 'int4'::regtype = pg_typeof(a)::regtype from t"]
)
def test_a_regtype_of_pg_typeof_is_looked_up_nowhere(catalog, sql):
    """DuckDB would take seconds to plan macros in macros, each with many uses of its argument."""
    assert "own.regtype(" not in catalog.translate(sql, Client())
    assert "regtype_name(_pg.cat.pg_typeof" not in catalog.translate(sql, Client())


def test_the_pages_of_a_table_are_all_of_its_rows_once():
    con = duckdb.connect()
    catalog = catalog_over(con)
    con.execute("CREATE TABLE many AS SELECT i FROM range(150_000) t(i)")
    parts = []
    for first, last in [(0, 1), (1, 2), (2, 2**32 - 1)]:
        sql = f"SELECT i FROM many WHERE ctid BETWEEN '({first},0)'::tid AND '({last},0)'::tid"
        said = catalog.in_duckdbs_words(sql)
        assert said is not None
        parts.append([i for (i,) in con.execute(said).fetchall()])
    assert [len(part) for part in parts] == [65536, 65536, 150_000 - 2 * 65536]
    assert sorted(i for part in parts for i in part) == list(range(150_000))
