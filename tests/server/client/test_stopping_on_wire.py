"""Clients that are stopped, or that leave, at awkward moments."""

from __future__ import annotations

import socket
import struct
import time

import psycopg
import pytest

from relserve.engines.scripted import ScriptedEngine
from tests.server.client.conftest import Serve, connect
from tests.waiting import PATIENCE_S, act_when, wait_until

STARTUP = b"user\0ann\0database\0memory\0\0"
LONG = "SELECT count(*) FROM range(1000000000000000000) t(x) WHERE hash(x) % 7 = 1"


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def raw_client(port: int) -> socket.socket:
    """A client of bytes, past its login."""
    client = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    client.sendall(struct.pack("!ii", len(STARTUP) + 8, 3 << 16) + STARTUP)
    read_until_ready(client)
    return client


def read_until_ready(client: socket.socket) -> bytes:
    data = b""
    while data[-6:-1] != b"Z\0\0\0\5":
        part = client.recv(65536)
        assert part, data
        data += part
    return data


def reset(client: socket.socket) -> None:
    """Hang up at once."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


@pytest.mark.long
def test_a_client_that_leaves_as_its_statement_begins_stops_it(serve: Serve) -> None:
    engine = ScriptedEngine(pause_s=0.05, chunk=1)
    server = serve(engine)
    for _ in range(10):
        client = raw_client(server.port)
        client.sendall(message(b"Q", b"SELECT llm('Say {}', range) FROM range(10000)\0"))
        reset(client)
    wait_until(lambda: not server.clients())
    answered = engine.num_answered
    time.sleep(0.3)
    assert engine.num_answered == answered


def test_rows_that_are_fetched_later_can_be_cancelled(serve: Serve) -> None:
    con = connect(serve(), autocommit=True, cursor_factory=psycopg.ClientCursor)
    con.execute("BEGIN")
    rows = "SELECT x FROM range(1000000000000000000) t(x) WHERE hash(x) % 1000000 = 1"
    con.execute(f"DECLARE c CURSOR FOR {rows}")
    con.execute("SET statement_timeout = '300ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        con.execute("FETCH ALL FROM c")
    con.execute("ROLLBACK")
    assert con.execute("SELECT 1").fetchone() == (1,)


def test_a_client_that_does_not_read_is_terminated(serve: Serve) -> None:
    server = serve()
    client = raw_client(server.port)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.sendall(message(b"Q", b"SELECT repeat('x', 1000) FROM range(1000000)\0"))
    wait_until(lambda: bool(server.clients()) and server.clients()[0].state == "active")
    other = connect(server, autocommit=True)
    other.execute("SELECT pg_terminate_backend(%s)", (server.clients()[0].pid,))
    wait_until(lambda: len(server.clients()) == 1)
    client.close()


def test_a_function_call_is_refused_and_the_client_goes_on(serve: Serve) -> None:
    client = raw_client(serve().port)
    client.sendall(message(b"F", b"\0\0\0\0\0\0\0\0\0\0"))
    assert b"0A000" in read_until_ready(client)
    client.sendall(message(b"Q", b"SELECT 42\0"))
    assert b"42" in read_until_ready(client)
    client.close()


def test_a_comment_before_rollback_is_no_hindrance(serve: Serve) -> None:
    con = connect(serve(), autocommit=True, cursor_factory=psycopg.ClientCursor)
    con.execute("BEGIN")
    with pytest.raises(psycopg.Error):
        con.execute("SELECT nope")
    con.execute("/* tool */ ROLLBACK")
    assert con.execute("SELECT 1").fetchone() == (1,)


def test_copy_from_a_silent_client_has_a_time_out(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    con.execute("CREATE TABLE t (a INTEGER)")
    con.execute("SET statement_timeout = '300ms'")
    with pytest.raises(psycopg.errors.QueryCanceled), con.cursor().copy("COPY t FROM STDIN"):
        time.sleep(1)
    con.execute("RESET statement_timeout")
    assert con.execute("SELECT count(*) FROM t").fetchone() == (0,)


def test_nobody_copies_into_the_catalog(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    with (
        pytest.raises(psycopg.errors.InsufficientPrivilege),
        con.cursor().copy("COPY _pg.own.t FROM STDIN") as copy,
    ):
        copy.write("1\n")


def test_a_held_cursor_survives_an_error(serve: Serve) -> None:
    con = connect(serve(), autocommit=True, cursor_factory=psycopg.ClientCursor)
    con.execute("DECLARE c CURSOR WITH HOLD FOR SELECT range FROM range(5000)")
    assert len(con.execute("FETCH 2 FROM c").fetchall()) == 2
    with pytest.raises(psycopg.Error):
        con.execute("FETCH 1 FROM nope")
    assert len(con.execute("FETCH ALL FROM c").fetchall()) == 4998


def test_a_refusal_is_told_once(serve: Serve) -> None:
    server = serve()
    first, second = connect(server, autocommit=True), connect(server, autocommit=True)
    second.execute("SELECT 1")
    with pytest.raises(psycopg.errors.UndefinedTable):
        first.execute("SELECT * FROM nope", prepare=True)


def test_a_broken_message_within_copy_ends_the_client(serve: Serve) -> None:
    client = raw_client(serve().port)
    client.sendall(message(b"Q", b"CREATE TABLE t (a INTEGER)\0"))
    read_until_ready(client)
    client.sendall(message(b"Q", b"COPY t FROM STDIN\0"))
    assert client.recv(100).startswith(b"G")
    client.sendall(b"d\0\0\0\0")
    told = b""
    while part := client.recv(4096):
        told += part
    assert b"FATAL" in told
    client.close()


def test_only_so_many_clients_come_at_once(serve: Serve) -> None:
    server = serve(max_connections=3)
    clients = [socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) for _ in range(15)]
    for client in clients:
        client.sendall(struct.pack("!ii", len(STARTUP) + 8, 3 << 16) + STARTUP)
    told = [client.recv(100)[:1] for client in clients]
    assert told.count(b"R") == 3
    assert told.count(b"E") == 12
    for client in clients:
        client.close()


def test_statements_after_a_commit_in_one_text_run_together_again(serve: Serve) -> None:
    con = connect(serve(), autocommit=True, cursor_factory=psycopg.ClientCursor)
    con.execute("CREATE TABLE t (a INTEGER)")
    with pytest.raises(psycopg.Error):
        con.execute("INSERT INTO t VALUES (1); COMMIT; INSERT INTO t VALUES (2); SELECT error('no')")
    assert con.execute("SELECT * FROM t").fetchall() == [(1,)]


@pytest.mark.long
def test_the_next_part_of_a_portal_can_be_stopped(serve: Serve) -> None:
    client = raw_client(serve().port)
    client.sendall(message(b"Q", b"BEGIN\0"))
    read_until_ready(client)
    client.sendall(message(b"Q", b"SET statement_timeout = '500ms'\0"))
    read_until_ready(client)
    text = b"SELECT x FROM range(1000000000000000000) t(x)\0"
    client.sendall(message(b"P", b"\0" + text + b"\0\0") + message(b"B", b"p\0\0\0\0\0\0\0\0"))
    client.sendall(message(b"E", b"p\0\0\0\0\2") + message(b"S", b""))
    assert b"s\0\0\0\4" in read_until_ready(client)
    client.sendall(message(b"E", b"p\0\0\0\0\0") + message(b"S", b""))
    assert b"57014" in read_until_ready(client)
    client.close()


def test_who_guesses_keys_beside_a_client_does_not_keep_it_from_cancelling(serve: Serve) -> None:
    server = serve()
    con = connect(server, autocommit=True)
    for _ in range(200):
        server._key_tries.wrong("127.0.0.1")
    assert server._key_tries.wait_s("127.0.0.1")
    stops = act_when(lambda: any(each.state == "active" for each in server.clients()), con.cancel_safe)
    with pytest.raises(psycopg.errors.QueryCanceled):
        con.execute(LONG)
    stops.join(PATIENCE_S)
