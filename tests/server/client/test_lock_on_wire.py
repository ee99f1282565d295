"""What a plain user may not, over the wire: by either protocol, and beside an admin who is at work."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from relserve.engines.scripted import ScriptedEngine
from relserve.server.options import ServerOptions
from relserve.server.server import Server
from relserve.server.users.users import User, Users
from relserve.server.wire.scram import make_verifier
from tests.server.client.conftest import connect
from tests.waiting import PATIENCE_S

# the server's own setting, which pytest takes back after the module's first test
pytestmark = pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result")
CURSORS = [psycopg.ClientCursor, psycopg.Cursor]  # the simple protocol and the extended one


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a database file and two users."""
    folder = tmp_path_factory.mktemp("locked")
    users = Users(folder / "users.json")
    users.add(User("ann", make_verifier("secret")))
    users.add(User("root", make_verifier("secret"), is_admin=True))
    users.save()
    server = Server(ServerOptions(folder / "shop.duckdb", port=0, users=users.path), ScriptedEngine())
    is_up = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(server.run(is_up.set)), daemon=True)
    thread.start()
    assert is_up.wait(PATIENCE_S)
    yield server
    server.stop()
    thread.join(PATIENCE_S)


@pytest.fixture
def ann(server: Server) -> Iterator[psycopg.Connection[Any]]:
    """A plain user."""
    with connect(server, user="ann", dbname="shop", password="secret", autocommit=True) as con:
        yield con


@pytest.fixture
def root(server: Server) -> Iterator[psycopg.Connection[Any]]:
    """An admin."""
    with connect(server, user="root", dbname="shop", password="secret", autocommit=True) as con:
        yield con


@pytest.mark.cells(3)
@pytest.mark.parametrize("cursor", CURSORS)
@pytest.mark.parametrize("blank", "\u00a0\u2003\u200b\u2060\ufeff")
def test_no_blank_hides_a_copy_over_the_databases_own_file(server, ann, cursor, blank) -> None:
    ann.execute("CREATE TABLE IF NOT EXISTS t AS SELECT 'overwritten' AS a")
    file = Path(server.options.database)
    text = (
        f"WITH a AS (SELECT{blank}e'\\'' AS q), b AS (COPY t TO '{file}.wal' (FORMAT csv, "
        "USE_TMP_FILE false)) SELECT 1 --'"
    )
    ann.cursor_factory = cursor
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="send rows by COPY"):
        ann.execute(text)
    assert not any(b"overwritten\n" in each.read_bytes() for each in file.parent.glob("shop.duckdb*"))
    assert ann.execute("SELECT a FROM t").fetchall() == [("overwritten",)]


@pytest.mark.parametrize("cursor", CURSORS)
@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("SELECT\u00a01,\u20032\ufeff -- \u00a0", (1, 2)),
        ("SELECT 1 AS `it's` /* it's */, '\u00a0'", (1, "\u00a0")),
        ("SELECT llm('Say {}', 'x') IS NULL AS `it's`,\u00a0'a' /* /* */ ' */", (False, "a")),
    ],
)
def test_texts_with_such_characters_run(ann, cursor, text, row) -> None:
    ann.cursor_factory = cursor
    assert ann.execute(text).fetchall() == [row]


def test_a_blank_that_cannot_be_read_surely_is_refused_with_its_place(ann) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match=r"character 9 .*U\+200D"):
        ann.execute("SELECT 1\u200d")


@pytest.mark.parametrize("cursor", CURSORS)
def test_a_column_default_tells_nothing_of_who_inserts(ann, root, cursor) -> None:
    ann.cursor_factory = cursor
    for asked in ("current_query()", "getvariable('x')", "current_setting('x')", "pg_terminate_backend(1)"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="would tell what is theirs"):
            ann.execute(f"CREATE TABLE listens (a INT, q VARCHAR DEFAULT {asked})".encode())
    root.execute("CREATE OR REPLACE TABLE listens (a INT, q VARCHAR DEFAULT upper('x'))")
    ann.execute("INSERT INTO listens (a) VALUES (1)")
    assert ann.execute("SELECT q FROM listens").fetchall() == [("X",)]


def test_no_text_holds_what_tells_who_asks(ann) -> None:
    told = ann.execute("SELECT current_query(), pid FROM pg_stat_activity WHERE pid = pg_backend_pid()")
    ((query, pid),) = told.fetchall()
    assert pid == ann.info.backend_pid
    assert not re.search(r"[0-9a-f]{16}", query)
    for asked in ("_pg_activity(2)", "`_pg_signal`(2, 1, 'cancel')"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="the server's own"):
            ann.execute(f"SELECT {asked}".encode())


def test_an_admins_view_shows_each_what_they_may_see(ann, root) -> None:
    root.execute("CREATE OR REPLACE VIEW clients AS SELECT usename, query FROM pg_stat_activity")
    seen = dict(ann.execute("SELECT DISTINCT usename, query FROM clients").fetchall())
    assert seen["root"] == "<insufficient privilege>"
    assert "insufficient" not in dict(root.execute("SELECT usename, query FROM clients").fetchall())["ann"]


@pytest.mark.parametrize("cursor", CURSORS)
def test_nobody_stops_another_users_statement_by_a_view(ann, root, cursor) -> None:
    ann.cursor_factory = cursor
    text = f"CREATE VIEW stops AS SELECT pg_terminate_backend({root.info.backend_pid})"
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        ann.execute(text.encode())
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="must be an admin"):
        ann.execute(f"SELECT pg_cancel_backend({root.info.backend_pid})".encode())
    assert root.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.cells(3)
@pytest.mark.parametrize("cursor", CURSORS)
@pytest.mark.parametrize(
    "text",
    [
        "CREATE MACRO sum(x) AS 42", "CREATE OR REPLACE MACRO main.\"Lower\"(x) AS 'x'",
        "CREATE FUNCTION duckdb_tables() AS TABLE SELECT 1", "CREATE TYPE json AS ENUM ('a')",
        "CREATE VIEW duckdb_columns AS SELECT 1",
    ],
)  # fmt: skip
def test_no_name_of_duckdbs_is_taken(ann, cursor, text) -> None:
    ann.cursor_factory = cursor
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="another name, or make it TEMP"):
        ann.execute(text)
    assert ann.execute("SELECT sum(a) FROM (VALUES (1), (2)) v (a)").fetchone() == (3,)
