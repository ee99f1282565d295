"""Prepared statements, portals and cursors as PostgreSQL's clients use them."""

from __future__ import annotations

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
    with pytest.raises(psycopg.errors.UniqueViolation), con.pipeline():
        for value in (1, 2, 1):
            con.execute("INSERT INTO t VALUES (%s)", (value,))
    assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)
    with con.pipeline():
        for value in (1, 2):
            con.execute("INSERT INTO t VALUES (%s)", (value,))
    assert con.execute("SELECT count(*) FROM t").fetchone() == (2,)


def test_a_write_in_a_read_only_transaction_has_postgresqls_code(serve: Serve) -> None:
    con = connect(serve())
    con.read_only = True
    with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        con.execute("CREATE TABLE t (a INTEGER)")
