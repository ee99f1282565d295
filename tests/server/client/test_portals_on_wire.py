"""Prepared statements, portals and cursors as PostgreSQL's clients use them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import psycopg
import pytest

from tests.server.client.conftest import Serve, connect


def test_a_cursor_of_the_server_takes_parameters(serve: Serve) -> None:
    con = connect(serve())
    with con.cursor("named") as cursor:
        cursor.execute("SELECT i FROM range(100) t(i) WHERE i >= %s AND i <> %s", (95, 97))
        assert cursor.fetchall() == [(95,), (96,), (98,), (99,)]


def test_what_is_sent_before_one_sync_is_done_or_nothing_is(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    with pytest.raises(psycopg.errors.UniqueViolation):
        insert(con, 1, 2, 1)
    assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)
    insert(con, 1, 2)
    assert con.execute("SELECT count(*) FROM t").fetchone() == (2,)


def insert(con: psycopg.Connection[Any], *values: int) -> None:
    """Send all before one Sync."""
    with con.pipeline():
        for value in values:
            con.execute("INSERT INTO t VALUES (%s)", (value,))


def test_a_write_in_a_read_only_transaction_has_postgresqls_code(serve: Serve) -> None:
    con = connect(serve())
    con.read_only = True
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        con.execute("CREATE TABLE t (a INTEGER)")


def test_bytes_that_a_driver_writes_into_the_text(serve: Serve) -> None:
    con = connect(serve(), cursor_factory=psycopg.ClientCursor)
    given = bytes(range(256))
    assert con.execute("SELECT %s, %s", (given, b"")).fetchone() == (given, b"")
    assert con.execute("SELECT 'it''s ''\\x00''::bytea'").fetchone() == ("it's '\\x00'::bytea",)


@pytest.mark.parametrize("binary", [False, True])
def test_a_numeric_parameter_comes_back_as_it_went(serve: Serve, binary: bool) -> None:
    given = Decimal("-12.3400")
    assert connect(serve()).execute("SELECT %s", (given,), binary=binary).fetchone() == (given,)


def test_show_names_a_setting_as_postgresql_does(serve: Serve) -> None:
    cursor = connect(serve()).execute("SHOW datestyle")
    assert cursor.description is not None
    assert cursor.description[0].name == "DateStyle"


def test_a_prepared_statement_over_a_table_that_has_changed(serve: Serve) -> None:
    server = serve()
    con, other = (connect(server, autocommit=True) for _ in range(2))
    con.execute("CREATE TABLE t (a INTEGER)")
    assert con.execute("SELECT * FROM t", prepare=True).fetchall() == []
    other.execute("ALTER TABLE t ADD COLUMN b INTEGER")
    with pytest.raises(psycopg.errors.FeatureNotSupported) as caught:
        con.execute("SELECT * FROM t", prepare=True)
    assert caught.value.diag.source_function == "RevalidateCachedQuery"
    assert con.execute("SELECT * FROM t AS t").fetchall() == []


def test_a_vector_of_the_catalog_has_its_type(serve: Serve) -> None:
    con = connect(serve())
    con.execute("CREATE TABLE t (a INTEGER, b INTEGER)")
    con.execute("CREATE INDEX i ON t (b, a)")
    cursor = con.execute("SELECT indkey FROM pg_index WHERE indexrelid = 'i'::regclass")
    assert cursor.description is not None
    assert cursor.description[0].type_code == 22
    assert cursor.fetchall() == [("2 1",)]
