"""TLS and passwords, with a real client."""

from __future__ import annotations

import contextlib
import socket
import struct
import subprocess
import time
from pathlib import Path

import psycopg
import pytest

from relserve.server.users.tries import Tries, TryLimit
from relserve.server.users.users import User, Users
from relserve.server.wire.scram import make_verifier
from tests.server.client.conftest import Serve, connect
from tests.waiting import PATIENCE_S


@pytest.fixture
def secured(serve: Serve, tmp_path: Path):
    """A server with TLS and two users."""
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=here"
    subprocess.run([*words.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    users = Users(tmp_path / "users.json")
    users.add(User("ann", make_verifier("secret")))
    users.add(User("root", make_verifier("secret"), is_admin=True))
    users.save()
    return serve(users=users.path, tls_cert=certificate, tls_key=key)


def test_every_login_gets_in(secured) -> None:
    for _ in range(20):
        with connect(secured, password="secret", sslmode="require") as con:
            assert con.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize("user", ["ann", "nobody"])
def test_a_wrong_password_is_refused(secured, user: str) -> None:
    with pytest.raises(psycopg.OperationalError, match=f'password authentication failed for user "{user}"'):
        connect(secured, user=user, password="wrong", sslmode="require")


def test_no_client_comes_without_tls(secured) -> None:
    with pytest.raises(psycopg.OperationalError, match="sslmode=require"):
        connect(secured, password="secret", sslmode="disable")


def test_a_plain_user_is_refused_with_42501(secured) -> None:
    con = connect(secured, password="secret", sslmode="require", autocommit=True)
    for text in ("FROM read_text('/etc/passwd')", "SET threads = 1", "CHECKPOINT"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            con.execute(text)
    assert con.execute("SELECT 1").fetchone() == (1,)


def test_nobody_copies_rows_into_the_catalog(secured) -> None:
    con = connect(secured, password="secret", sslmode="require", autocommit=True)
    for table in ("_pg.own.settings", '"_pg".own.settings'):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            con.execute(f"COPY {table} FROM STDIN")
    con.execute("CREATE TABLE own (a INT)")
    with con.cursor().copy("COPY own (a) FROM STDIN") as copy:
        copy.write_row([1])
    assert con.execute("SELECT a FROM own").fetchone() == (1,)


def test_no_view_keeps_the_rights_of_its_maker(secured) -> None:
    root = connect(secured, user="root", password="secret", sslmode="require", autocommit=True)
    root.execute("CREATE VIEW seen AS SELECT usename, query FROM pg_stat_activity")
    root.execute(f"CREATE VIEW stops AS SELECT pg_terminate_backend({root.info.backend_pid}) AS done")
    ann = connect(secured, password="secret", sslmode="require", autocommit=True)
    assert ("root", "<insufficient privilege>") in ann.execute("FROM seen").fetchall()
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="must be an admin, or the same user"):
        ann.execute("FROM stops").fetchall()
    root.execute("CREATE TABLE kept AS SELECT usename FROM pg_stat_activity")
    assert sorted(root.execute("FROM kept").fetchall()) == [("ann",), ("root",)]


def test_names_cannot_end_a_text_of_the_servers(secured, tmp_path: Path) -> None:
    con = connect(
        secured, password="secret", sslmode="require", autocommit=True, cursor_factory=psycopg.ClientCursor
    )
    con.execute("CREATE TABLE kept AS SELECT 1 AS a")
    con.execute('CREATE TEMP TABLE "x""; DROP TABLE kept; --" (a INT)')
    con.execute('PREPARE "y""; DROP TABLE kept; --" AS SELECT 1')
    con.execute("DISCARD ALL")
    assert con.execute("SELECT a FROM kept").fetchone() == (1,)
    assert con.execute("SELECT count(*) FROM duckdb_tables() WHERE temporary").fetchone() == (0,)


@pytest.mark.cells(1)
@pytest.mark.parametrize("asks_for_tls", [False, True])
def test_sockets_that_say_nothing_keep_nobody_out(
    secured, monkeypatch: pytest.MonkeyPatch, asks_for_tls: bool
) -> None:
    monkeypatch.setattr("relserve.server.server.MAX_WAITING", 5)
    monkeypatch.setattr("relserve.server.tls.HANDSHAKE_S", 10 * PATIENCE_S)
    silent = []
    for _ in range(20):
        one = socket.create_connection(("127.0.0.1", secured.port))
        if asks_for_tls:
            one.sendall(struct.pack("!ii", 8, 80877103))
            assert one.recv(1) == b"S"
        silent.append(one)
    with connect(secured, password="secret", sslmode="require") as con:
        assert con.execute("SELECT 1").fetchone() == (1,)
    for each in silent[:15]:
        each.settimeout(PATIENCE_S)
        with contextlib.suppress(ConnectionResetError):
            assert each.recv(1) == b""
    for each in silent:
        each.close()


def test_guesses_have_a_budget(secured, monkeypatch: pytest.MonkeyPatch) -> None:
    few = TryLimit(3, 1000.0)
    for name in ("OF_ADDRESS", "OF_USER", "OF_KNOWN"):
        monkeypatch.setattr(f"relserve.server.users.tries.{name}", few)
    secured._tries = Tries(time.monotonic)
    with connect(secured, user="root", password="secret", sslmode="require"):
        pass
    for number in range(6):
        told = "password authentication failed" if number < 3 else r"too many wrong passwords .* in \d+ s"
        with pytest.raises(psycopg.OperationalError, match=told):
            connect(secured, password=f"guess {number}", sslmode="require")
    with pytest.raises(psycopg.OperationalError, match="too many wrong passwords"):
        connect(secured, password="secret", sslmode="require")
    with connect(secured, user="root", password="secret", sslmode="require") as con:  # who is known here
        assert con.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.long
def test_a_login_that_ends_before_its_password_is_no_guess(secured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("relserve.server.users.tries.OF_ADDRESS", TryLimit(1, 1000.0))
    secured._tries = Tries(time.monotonic)
    for _ in range(3):  # psql, which then asks for one
        with pytest.raises(psycopg.OperationalError, match="no password supplied"):
            connect(secured, sslmode="require", passfile="/nowhere")
    with connect(secured, password="secret", sslmode="require") as con:
        assert con.execute("SELECT 1").fetchone() == (1,)
