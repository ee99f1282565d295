"""What psql's backslash-d and SQLAlchemy 1.4 ask of keys and indexes, in the forms that they ask it in."""

import duckdb
import pytest

from tests.server.catalog.clients import Client, catalog_over


@pytest.fixture(scope="module")
def asked():
    con = duckdb.connect()
    catalog = catalog_over(con)
    return lambda sql: con.execute(catalog.translate(sql, Client())).fetchall()


ROWS = [
    ("select indkey::varchar, indoption::text from pg_index where indrelid = 'orders'::regclass "
     "and indisprimary",
     [("1 2", "0 0")]),
    ("select relname, relhastriggers from pg_class where relkind in ('r', 'v') and oid >= 16384 "
     "and relnamespace in ('main'::regnamespace, 'sales'::regnamespace) order by 1",
     [("Big Table", False), ("customers", True), ("names", False), ("orders", True)]),
    ("select (select json_build_object('always', a.attidentity = 'a', 'n', 1)) from pg_attribute a "
     "where attrelid = 'customers'::regclass and attnum = 1",
     [('{"always":false,"n":1}',)]),
    ("select conname, conrelid::pg_catalog.regclass from pg_catalog.pg_constraint c "
     "where confrelid in (select pg_catalog.pg_partition_ancestors('customers'::regclass::oid) "
     "union all values ('customers'::pg_catalog.regclass)) and contype = 'f'",
     [("orders_customer_fkey", "orders")]),
    ("select t.tgname, case when t.tgparentid != 0 then (select u.tgrelid::pg_catalog.regclass "
     "from pg_catalog.pg_trigger as u, pg_catalog.pg_partition_ancestors(t.tgrelid) with ordinality "
     "as a(relid, depth) where u.tgrelid = a.relid order by a.depth limit 1) end "
     "from pg_catalog.pg_trigger t",
     []),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "rows"), ROWS, ids=[sql[:60] for sql, _ in ROWS])
def test_answers_are_those_of_postgresql(asked, sql, rows):
    assert asked(sql) == rows
