"""What prepared statements give, when they run again, and when what they read has changed."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Any

import asyncpg
import psycopg
import pytest

from relserve.server.server import Server
from tests.server.client.conftest import Serve, connect

Con = asyncpg.Connection


def with_asyncpg(server: Server, steps: Callable[[Con], Awaitable[Any]]) -> Any:
    """What the steps give, on a client of asyncpg's."""

    async def run() -> Any:
        con = await asyncpg.connect(host="127.0.0.1", port=server.port, user="ann", database="memory")
        try:
            return await steps(con)
        finally:
            await con.close()

    return asyncio.run(run())


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    ("statement", "rows", "status"),
    [
        ("INSERT INTO r VALUES ('x'), ('returning')", None, "INSERT 0 2"),
        ("INSERT INTO r SELECT 'x' AS returning -- returning", None, "INSERT 0 1"),
        ('INSERT INTO q("returning") VALUES (1)', None, "INSERT 0 1"),
        ('INSERT INTO q VALUES (1) RETURNING 5::BIGINT AS "Count"', [(5,)], "INSERT 0 1"),
        ("UPDATE r SET a = 'returning'", None, "UPDATE 6"),
        ("CREATE TABLE s AS SELECT 'returning' AS a", None, "SELECT 1"),
        ("TRUNCATE r", None, "TRUNCATE TABLE"),
        ("DELETE FROM r", None, "DELETE 6"),
    ],
)
def test_rows_and_tag_of_a_write(serve: Serve, statement: str, rows: Any, status: str) -> None:
    con = connect(serve())
    con.execute(
        "CREATE TABLE r AS SELECT range::VARCHAR AS a FROM range(6); CREATE TABLE q (returning_ INTEGER)"
    )
    con.execute('ALTER TABLE q RENAME COLUMN returning_ TO "returning"')
    cursor = con.execute(statement)  # type: ignore[call-overload]
    assert (cursor.fetchall() if cursor.description else None, cursor.statusmessage) == (rows, status)


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    ("prepared", "rows", "status"),
    [
        ('SELECT count(*) AS "Count" FROM r', [(6,)], "SELECT 1"),
        ('SELECT true AS "Success"', [(True,)], "SELECT 1"),
        ("UPDATE r SET a = 'x' WHERE a < '2'", None, "UPDATE 2"),
        ("INSERT INTO r VALUES ('returning')", None, "INSERT 0 1"),
        ("DELETE FROM r RETURNING a = '7' AS b", [(False,)] * 6, "DELETE 6"),
    ],
)
def test_an_execute_gives_what_was_prepared(serve: Serve, prepared: str, rows: Any, status: str) -> None:
    con = connect(serve())
    con.execute("CREATE TABLE r AS SELECT range::VARCHAR AS a FROM range(6)")
    con.execute(f'PREPARE "P 1" AS {prepared}')  # type: ignore[call-overload]
    cursor = con.execute('/* it */ EXECUTE "p 1"')
    assert (cursor.fetchall() if cursor.description else None, cursor.statusmessage) == (rows, status)


def test_an_execute_of_nothing_is_an_error(serve: Serve) -> None:
    con = connect(serve())
    con.execute("PREPARE p AS SELECT 1")
    con.execute("DEALLOCATE p")
    with pytest.raises(psycopg.Error, match=r"(?i)prepared statement"):
        con.execute("EXECUTE p")


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    "change", ["ALTER TABLE t ALTER a TYPE VARCHAR", "ALTER TABLE t RENAME a TO b", "SET search_path = other"]
)
@pytest.mark.parametrize("format_", [0, 1])
def test_rows_of_other_columns_than_told_are_not_sent(serve: Serve, change: str, format_: int) -> None:
    con = connect(serve(), autocommit=True)
    con.execute(
        "CREATE TABLE t AS SELECT 7 AS a; CREATE SCHEMA other; CREATE TABLE other.t AS SELECT 'x' AS a"
    )
    con.pgconn.prepare(b"p", b"SELECT * FROM t")
    for _ in range(2):
        found = con.pgconn.exec_prepared(b"p", [], result_format=format_)
        assert found.get_value(0, 0) == (b"\0\0\0\7" if format_ else b"7")
    con.execute(change)  # type: ignore[call-overload]
    for _ in range(2):
        found = con.pgconn.exec_prepared(b"p", [], result_format=format_)
        assert b"cached plan must not change result type" in found.error_message
    con.pgconn.prepare(b"q", b"SELECT * FROM t")
    assert con.pgconn.exec_prepared(b"q", []).get_value(0, 0) in (b"7", b"x")


def test_a_change_is_seen_when_its_transaction_ends(serve: Serve) -> None:
    server = serve()

    async def steps(con: Con) -> Any:
        await con.execute("CREATE TABLE t AS SELECT 7 AS a")
        other = connect(server)
        other.execute("ALTER TABLE t ALTER a TYPE BIGINT")
        prepared = await con.prepare("SELECT a FROM t")
        before = await prepared.fetchval()
        other.commit()
        with pytest.raises(asyncpg.exceptions.InvalidCachedStatementError):
            await prepared.fetchval()
        return before, await con.fetchval("SELECT a FROM t AS t")

    assert with_asyncpg(server, steps) == (7, 7)


def test_a_prepared_statement_sees_settings_of_now(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    for name in ("one", "three"):
        con.execute(f"SET application_name = '{name}'")  # type: ignore[call-overload]
        found = con.execute("SELECT current_setting('application_name') AS a", prepare=True).fetchone()
        assert found == (name,)


def test_a_changed_table_does_not_matter_where_the_columns_are_the_same(serve: Serve) -> None:
    async def steps(con: Con) -> Any:
        await con.execute("CREATE TABLE t AS SELECT 7 AS a")
        prepared = await con.prepare("SELECT a FROM t WHERE a > $1")
        await con.execute("ALTER TABLE t ADD COLUMN b INTEGER")
        return await prepared.fetchval(1)

    assert with_asyncpg(serve(), steps) == 7


def test_a_portal_tells_the_rows_of_each_time(serve: Serve) -> None:
    answers = executed(serve(), "SELECT * FROM range(5)", 3, 3, 0)
    assert [kind for kind, _ in answers] == [*b"DDDsDDCC"]
    assert [body for kind, body in answers if kind in b"C"] == [b"SELECT 2\0", b"SELECT 0\0"]


def test_a_write_that_is_done_is_not_run_again(serve: Serve) -> None:
    server = serve()
    con = connect(server, autocommit=True)
    con.execute("CREATE TABLE t (a INTEGER)")
    answers = executed(server, "INSERT INTO t VALUES (1)", 0, 0)
    assert [kind for kind, _ in answers] == [*b"CE"]
    assert b"C55000\0" in answers[1][1]
    assert b'portal "x" cannot be run' in answers[1][1]
    assert con.execute("SELECT * FROM t").fetchall() == []  # one Sync, one transaction


def executed(server: Server, text: str, *most: int) -> list[tuple[int, bytes]]:
    """The answers to one portal's Executes, each of so many rows; libpq sends only one."""
    return answers_to(server, bound(text), *(execute(each) for each in most))


def test_a_copy_is_undone_with_its_pipeline(serve: Serve) -> None:
    server = serve()
    con = connect(server, autocommit=True)
    con.execute("CREATE TABLE t (a INTEGER)")
    copy = (bound("COPY t FROM STDIN"), execute(0), message(b"d", b"5\n"), message(b"c", b""))
    answers = answers_to(server, *copy, message(b"C", b"Px\0"), bound("SELECT error('no')"), execute(0))
    assert (ord("C"), b"COPY 1\0") in answers
    assert answers[-1][0] == ord("E")
    assert con.execute("SELECT * FROM t").fetchall() == []


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def bound(text: str) -> bytes:
    """A statement as portal x."""
    return message(b"P", b"\0" + text.encode() + b"\0\0\0") + message(b"B", b"x\0\0" + bytes(6))


def execute(most: int) -> bytes:
    return message(b"E", b"x\0" + struct.pack("!i", most))


def answers_to(server: Server, *messages: bytes) -> list[tuple[int, bytes]]:
    """What comes after the first Bind up to Sync, as kinds and bodies."""
    start = message(b"", struct.pack("!i", 3 << 16) + b"user\0ann\0database\0memory\0\0")
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as con:
        con.sendall(start + b"".join(messages) + message(b"S", b"") + message(b"X", b""))
        received = b"".join(iter(lambda: con.recv(1 << 16), b""))
    answers, at = [], 0
    while at < len(received):
        (length,) = struct.unpack_from("!i", received, at + 1)
        answers.append((received[at], received[at + 5 : at + 1 + length]))
        at += 1 + length
    return [each for each in answers[answers.index((ord("2"), b"")) + 1 :] if each[0] != ord("Z")]


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    "write",
    ["WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", "EXECUTE w", "CREATE TABLE u (b INTEGER)"],
)
def test_writes_of_all_kinds_are_undone_with_their_pipeline(serve: Serve, write: str) -> None:
    con = connect(serve(), autocommit=True)
    con.execute("CREATE TABLE t (a INTEGER); PREPARE w AS INSERT INTO t VALUES (1)")
    with pytest.raises(psycopg.Error, match="no"):
        in_one_pipeline(con, write, "SELECT error('no')")
    assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)
    assert con.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'u'").fetchone() == (0,)


def in_one_pipeline(con: psycopg.Connection[Any], *statements: str) -> None:
    with con.pipeline():
        for each in statements:
            con.execute(each)  # type: ignore[call-overload]
