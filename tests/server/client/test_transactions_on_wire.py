"""Transactions as PostgreSQL's clients see them."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.pq import TransactionStatus

from tests.server.client.conftest import Serve, connect


def test_a_failed_transaction_takes_nothing_but_its_end(serve: Serve) -> None:
    con = connect(serve(), cursor_factory=psycopg.ClientCursor)
    con.execute("CREATE TABLE t (a INTEGER)")
    with pytest.raises(psycopg.errors.UndefinedColumn):
        con.execute("SELECT nope FROM t")
    assert con.info.transaction_status == TransactionStatus.INERROR
    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        con.execute("SELECT 1")
    con.rollback()
    with pytest.raises(psycopg.errors.UndefinedTable):
        con.execute("SELECT * FROM t")


def test_the_statements_of_one_text_run_together_or_not_at_all(serve: Serve) -> None:
    con = connect(serve(), autocommit=True, cursor_factory=psycopg.ClientCursor)
    con.execute("CREATE TABLE t (a INTEGER)")
    with pytest.raises(psycopg.Error):
        con.execute("INSERT INTO t VALUES (1); SELECT error('no')")
    assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)
    con.execute("INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")
    assert con.execute("SELECT count(*) FROM t").fetchone() == (2,)


def test_a_commit_that_fails_says_so(serve: Serve) -> None:
    server = serve()
    first, second = (connect(server, cursor_factory=psycopg.ClientCursor) for _ in range(2))
    first.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    first.commit()
    first.execute("INSERT INTO t VALUES (1)")
    second.execute("INSERT INTO t VALUES (1)")
    first.commit()
    with pytest.raises(psycopg.Error):
        second.commit()
    assert first.execute("SELECT * FROM t").fetchall() == [(1,)]


def test_settings_are_undone_with_their_transaction(serve: Serve) -> None:
    con = connect(serve(), cursor_factory=psycopg.ClientCursor)
    con.execute("SET application_name = 'first'")
    con.commit()
    con.execute("SET application_name = 'second'")
    con.rollback()
    assert con.execute("SHOW application_name").fetchone() == ("first",)
    con.execute("SET LOCAL application_name = 'third'")
    assert con.execute("SHOW application_name").fetchone() == ("third",)
    con.commit()
    assert con.execute("SHOW application_name").fetchone() == ("first",)


def test_a_cursor_goes_on_beside_other_statements(serve: Serve) -> None:
    con = connect(serve(), cursor_factory=psycopg.ClientCursor)
    con.execute("CREATE TEMP TABLE t AS SELECT range AS a FROM range(10000)")
    con.execute("DECLARE c CURSOR FOR SELECT a FROM t ORDER BY a")
    assert con.execute("FETCH 3 FROM c").fetchall() == [(0,), (1,), (2,)]
    assert con.execute("SELECT 42").fetchone() == (42,)
    con.execute("INSERT INTO t VALUES (-1)")
    assert con.execute("FETCH 2 FROM c").fetchall() == [(3,), (4,)]
    assert con.execute("MOVE 5 FROM c").statusmessage == "MOVE 5"
    assert len(con.execute("FETCH ALL FROM c").fetchall()) == 10_000 - 10
    con.execute("CLOSE c")
    with pytest.raises(psycopg.errors.InvalidCursorName):
        con.execute("FETCH 1 FROM c")


def test_a_held_cursor_outlives_its_transaction(serve: Serve) -> None:
    con = connect(serve(), cursor_factory=psycopg.ClientCursor)
    con.execute("DECLARE c CURSOR WITH HOLD FOR SELECT range FROM range(5000)")
    con.commit()
    assert len(con.execute("FETCH ALL FROM c").fetchall()) == 5000
