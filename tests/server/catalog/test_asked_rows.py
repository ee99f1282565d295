"""What the catalog answers about tables of every kind."""

import datetime as dt
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from relserve.server.catalog import Catalog, attach_catalog
from tests.server.catalog.clients import Client, catalog_over, no_signal


@pytest.fixture(scope="module")
def asked():
    con = duckdb.connect()
    catalog = catalog_over(con)

    def ask(sql: str, **client: Any) -> list[tuple[Any, ...]]:
        return con.execute(catalog.translate(sql, Client(**client))).fetchall()

    return ask


ROWS = [
    ("select relname from pg_class where oid >= 20000 and relkind = any('{r,v}') "
     "and pg_table_is_visible(oid) order by 1",
     [("customers",), ("names",), ("orders",)]),
    ("select 'customers'::regclass, 'int4'::regtype, 'sales.\"Big Table\"'::regclass::text",
     [("customers", "integer", 'sales."Big Table"')]),
    ("select relname from pg_catalog.pg_class where oid = 'Orders'::regclass", [("orders",)]),
    ("select relname from pg_class where relname like 'customers\\_p%'", [("customers_pkey",)]),
    ("select attname, format_type(atttypid, atttypmod), attgenerated from pg_attribute "
     "where attrelid = 'orders'::regclass and attnum > 0 order by attnum",
     [("id", "bigint", ""), ("line", "smallint", ""), ("customer", "integer", ""),
      ("amount", "numeric(10,2)", ""), ("doubled", "numeric(11,2)", "s"),
      ("tags", "text[]", ""), ("placed", "timestamp with time zone", "")]),
    ("select conname, pg_get_constraintdef(oid) from pg_constraint "
     "where conrelid = 'orders'::regclass order by 1",
     [("orders_customer_fkey", "FOREIGN KEY (customer) REFERENCES customers(id)"),
      ("orders_pkey", "PRIMARY KEY (id, line)")]),
    ("select pg_get_indexdef(indexrelid) from pg_index where indrelid = 'customers'::regclass order by 1",
     [("CREATE UNIQUE INDEX customers_email_key ON main.customers USING btree (email)",),
      ("CREATE UNIQUE INDEX customers_lower ON main.customers USING btree (lower(name), id)",),
      ("CREATE UNIQUE INDEX customers_pkey ON main.customers USING btree (id)",)]),
    ("select obj_description('customers'::regclass), col_description('customers'::regclass, 2)",
     [("who buys", "in full")]),
    ("select enumlabel from pg_enum e join pg_type t on t.oid = enumtypid where typname = 'mood' "
     "order by enumsortorder",
     [("sad",), ("ok",)]),
    ("select column_name, data_type, udt_name from information_schema.columns "
     "where table_schema = 'sales' order by 1",
     [("Key", "integer", "int4"), ("feeling", "USER-DEFINED", "mood")]),
    ("select current_user, session_user, pg_backend_pid(), current_setting('server_version_num'), "
     "current_setting('no.such', true)",
     [("ann", "ann", 7, "150000", None)]),
    ("select nspname from pg_namespace where nspname !~ '^pg_' order by 1",
     [("information_schema",), ("main",), ("sales",)]),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "rows"), ROWS, ids=[sql[:60] for sql, _ in ROWS])
def test_a_text_gets_postgresqls_answer(asked, sql, rows):
    assert asked(sql) == rows


def test_a_name_that_is_not_there_is_an_error(asked):
    with pytest.raises(duckdb.InvalidInputException, match='relation "nothing" does not exist'):
        asked("select 'nothing'::regclass")


def test_only_admins_and_oneself_are_shown_what_runs():
    con = duckdb.connect()
    ((ann,),) = con.execute("SELECT current_connection_id()").fetchall()
    bob = con.cursor()
    when = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
    clients = pa.table(
        {
            "pid": [7, 8], "usename": ["ann", "bob"], "query": ["a", "b"], "backend_start": [when, when],
            "connection": [ann, bob.execute("SELECT current_connection_id()").fetchall()[0][0]],
            "is_admin": [False, True],
        }
    )  # fmt: skip
    attach_catalog(con)
    catalog = Catalog(con, lambda: clients, no_signal)
    text = "select pid, query from pg_stat_activity order by pid"
    assert con.execute(catalog.translate(text, Client())).fetchall() == [
        (7, "a"),
        (8, "<insufficient privilege>"),
    ]
    assert bob.execute(catalog.translate(text, Client())).fetchall() == [(7, "a"), (8, "b")]
    assert con.cursor().execute(catalog.translate(text, Client(is_admin=True))).fetchall() == []
