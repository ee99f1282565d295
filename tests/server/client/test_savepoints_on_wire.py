"""Savepoints: back to one since which nothing was written, and an honest refusal to any other."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.pq import TransactionStatus

from tests.server.client.conftest import Serve, connect


def test_a_savepoint_since_which_nothing_was_written(serve: Serve) -> None:
    con = connect(serve())
    con.execute("CREATE TABLE t (a INTEGER)")
    con.execute("SAVEPOINT a")
    assert con.execute("SELECT * FROM t").fetchall() == []
    con.execute("ROLLBACK TO SAVEPOINT a")
    assert con.info.transaction_status == TransactionStatus.INTRANS
    con.execute("INSERT INTO t VALUES (1)")
    con.execute("RELEASE SAVEPOINT a")
    con.commit()
    assert con.execute("SELECT * FROM t").fetchall() == [(1,)]


def test_what_was_written_since_cannot_be_undone_by_itself(serve: Serve) -> None:
    con = connect(serve())
    con.execute("CREATE TABLE t (a INTEGER)")
    con.commit()
    con.execute("SAVEPOINT a")
    con.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        con.execute("ROLLBACK TO a")
    assert con.info.transaction_status == TransactionStatus.INERROR
    con.rollback()
    assert con.execute("SELECT * FROM t").fetchall() == []


@pytest.mark.parametrize(
    "text",
    ["WITH z AS (INSERT INTO t VALUES (1) RETURNING a) FROM z", "EXPLAIN ANALYZE INSERT INTO t VALUES (1)",
     "EXPLAIN ANALYZE EXECUTE inserts"],
)  # fmt: skip
def test_what_gives_rows_and_writes_some_cannot_either(serve: Serve, text: str) -> None:
    con = connect(serve())
    con.execute("CREATE TABLE t (a INTEGER)")
    con.execute("PREPARE inserts AS INSERT INTO t VALUES (1)")
    con.commit()
    con.execute("SAVEPOINT a")
    con.execute(text)
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="written since a"):
        con.execute("ROLLBACK TO a")


@pytest.mark.parametrize("text", ["SELECT 'update' AS a", "WITH z AS (SELECT 1 AS insert) FROM z"])
def test_what_only_speaks_of_writing_can(serve: Serve, text: str) -> None:
    con = connect(serve())
    con.execute("SAVEPOINT a")
    con.execute(text)
    con.execute("ROLLBACK TO a")


def test_an_error_that_ends_duckdbs_transaction_says_so(serve: Serve) -> None:
    con = connect(serve())
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    con.execute("INSERT INTO t VALUES (1)")
    con.execute("SAVEPOINT a")
    with pytest.raises(psycopg.errors.UniqueViolation):
        con.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(psycopg.errors.FeatureNotSupported):
        con.execute("ROLLBACK TO a")


def test_nested_transactions_of_a_driver(serve: Serve) -> None:
    con = connect(serve())
    con.execute("CREATE TABLE t (a INTEGER)")
    with con.transaction():
        con.execute("INSERT INTO t VALUES (1)")
        with con.transaction():
            con.execute("INSERT INTO t VALUES (2)")
    assert con.execute("SELECT sum(a)::int FROM t").fetchone() == (3,)


def test_savepoints_that_there_are_not(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    with pytest.raises(psycopg.errors.NoActiveSqlTransaction):
        con.execute("SAVEPOINT a")
    con.execute("BEGIN")
    with pytest.raises(psycopg.errors.InvalidSavepointSpecification):
        con.execute("RELEASE a")
