"""SET, RESET, SHOW and set_config: what they change, in DuckDB too, and what undoes them."""

from __future__ import annotations

import logging
import socket
import struct
from typing import Any

import psycopg
import pytest

from relserve.server.server import Server
from tests.server.client.conftest import Serve, connect
from tests.waiting import PATIENCE_S

NOON = "SELECT '2026-01-01 12:00:00+00'::TIMESTAMPTZ::VARCHAR"
WHERE = "SELECT current_setting('TimeZone'), current_schema()"


def text(con: psycopg.Connection[Any], query: str) -> str:
    """The first value of the first row."""
    row = con.execute(query).fetchone()
    assert row is not None
    return str(row[0])


@pytest.fixture
def con(serve: Serve) -> psycopg.Connection[Any]:
    """A client without a transaction, with a schema s9 beside main."""
    con = connect(serve(), autocommit=True, cursor_factory=psycopg.ClientCursor)
    con.execute("CREATE SCHEMA s9")
    con.execute("CREATE TABLE s9.t AS SELECT 9 AS a")
    return con


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    ("during", "end"),
    [
        (["SET TimeZone = 'Asia/Tokyo'", "SET search_path = s9"], "ROLLBACK"),
        (["SET LOCAL TimeZone = 'Asia/Tokyo'", "SET LOCAL search_path = s9"], "COMMIT"),
        (["SET LOCAL TimeZone = 'Asia/Tokyo'", "SET search_path = s9", "nonsense"], "COMMIT"),
    ],
)
def test_duckdb_forgets_with_the_transaction(
    con: psycopg.Connection[Any], during: list[str], end: str
) -> None:
    con.execute("BEGIN")
    for statement in during:
        if statement == "nonsense":
            with pytest.raises(psycopg.errors.SyntaxError):
                con.execute(statement)
        else:
            con.execute(statement)
    if "nonsense" not in during:
        assert text(con, NOON) == "2026-01-01 21:00:00+09"
        assert text(con, "SELECT a FROM t") == "9"
    con.execute(end)
    assert text(con, NOON) == "2026-01-01 12:00:00+00"
    assert (text(con, "SHOW TimeZone"), text(con, "SHOW search_path")) == ("UTC", "main")
    with pytest.raises(psycopg.errors.UndefinedTable):
        con.execute("SELECT a FROM t")


def test_a_set_after_a_local_one_stays(con: psycopg.Connection[Any]) -> None:
    con.execute("BEGIN")
    con.execute("SET LOCAL search_path = main")
    con.execute("SET search_path = s9")
    con.execute("COMMIT")
    assert (text(con, "SHOW search_path"), text(con, "SELECT a FROM t")) == ("s9", "9")


def test_a_reset_is_undone(con: psycopg.Connection[Any]) -> None:
    con.execute("SET application_name = 'a'")
    con.execute("SET search_path = s9")
    con.execute("BEGIN")
    con.execute("RESET ALL")
    assert text(con, "SHOW search_path") == "main"
    con.execute("ROLLBACK")
    assert text(con, "SHOW application_name") == "a"
    assert (text(con, "SHOW search_path"), text(con, "SELECT a FROM t")) == ("s9", "9")


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    "statement",
    ["SET schema = 's9'", "SET SCHEMA 's9'", 'SET "search_path" TO s9', "SET Search_Path = 's9' -- here"],
)
def test_ways_to_name_the_schema(con: psycopg.Connection[Any], statement: str) -> None:
    con.execute(statement)
    assert (text(con, "SHOW search_path"), text(con, "SELECT a FROM t")) == ("s9", "9")
    con.execute("RESET schema")
    assert text(con, "SELECT current_schema()") == "main"


def test_a_quoted_name_is_duckdbs_time_zone_too(con: psycopg.Connection[Any]) -> None:
    con.execute("SET \"TimeZone\" = 'Asia/Tokyo'")
    assert text(con, NOON) == "2026-01-01 21:00:00+09"
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        con.execute("SET TimeZone = 'Nowhere/At all'")
    assert text(con, "SHOW TimeZone") == "Asia/Tokyo"


@pytest.mark.parametrize("reset", ["RESET ALL", "DISCARD ALL"])
def test_reset_goes_back_to_what_was_asked_for_at_the_start(serve: Serve, reset: str) -> None:
    options = r"-c TimeZone=Asia/Tokyo --statement-timeout=9s -c x.y=a\ b"
    con = connect(serve(), autocommit=True, application_name="report", options=options)
    other = {"TimeZone": "UTC", "statement_timeout": "5min", "application_name": "5", "x.y": "5"}
    for name, value in other.items():
        con.execute(f"SET {name} = '{value}'")
    con.execute(reset)
    assert [text(con, f"SHOW {name}") for name in other] == ["Asia/Tokyo", "9s", "report", "a b"]
    assert text(con, NOON) == "2026-01-01 21:00:00+09"


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("it's", "write -c name=value"),
        ("-c TimeZone=Nowhere", "TimeZone"),
        ("-c statement_timeout=x", "5000"),
    ],
)
def test_a_wrong_setting_at_the_start_is_told(
    serve: Serve, caplog: pytest.LogCaptureFixture, options: str, says: str
) -> None:
    server = serve()
    with caplog.at_level(logging.WARNING), pytest.raises(psycopg.OperationalError, match=says):
        connect(server, options=options)
    assert [record.exc_info for record in caplog.records] == [None]


def told_at_start(server: Server, options: bytes) -> bytes:
    """What a client with these options is told until it is ready, or hung up on."""
    told = b""
    body = struct.pack("!i", 3 << 16) + b"user\0ann\0database\0memory\0options\0" + options + b"\0\0"
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as client:
        client.sendall(struct.pack("!i", len(body) + 4) + body)
        while b"Z\0\0\0\5I" not in told and (part := client.recv(4096)):
            told += part
    return told


def test_a_wrong_setting_at_the_start_has_its_sqlstate(serve: Serve) -> None:
    told = told_at_start(serve(), b"it's")
    assert b"SFATAL\0" in told
    assert b"C22023\0" in told


def test_an_unknown_setting_at_the_start_is_told_of(serve: Serve) -> None:
    told = told_at_start(serve(), b"-c nope=1 -c application_name=here")
    assert b"SWARNING\0" in told
    assert b'"nope" is left out' in told
    assert b"application_name\0here\0" in told
    assert told.endswith(b"Z\0\0\0\5I")


def test_a_very_long_patience(con: psycopg.Connection[Any]) -> None:
    for name in ("idle_session_timeout", "statement_timeout"):
        con.execute(f"SET {name} = '99999999d'")
        assert text(con, f"SHOW {name}") == "99999999d"
    assert text(con, "SELECT 1") == "1"


def test_comments_belong_to_no_value(con: psycopg.Connection[Any]) -> None:
    con.execute("SET application_name = 'a -- b' -- x")
    assert text(con, "SHOW application_name /* which */") == "a -- b"
    con.execute("SET statement_timeout = 100 /* ms */; -- done")
    assert text(con, "SHOW statement_timeout") == "100"
    con.execute("BEGIN /* now */")
    con.execute("DECLARE c CURSOR FOR SELECT 1")
    assert con.execute("FETCH 1 FROM c /* x */").fetchall() == [(1,)]


def test_only_notices_that_are_wanted(con: psycopg.Connection[Any]) -> None:
    heard: list[str | None] = []
    con.add_notice_handler(lambda notice: heard.append(notice.severity))
    for level, count in (("warning", 1), ("error", 0), ("notice", 1)):
        con.execute(f"SET client_min_messages = {level}")
        con.execute("COMMIT")
        assert heard == ["WARNING"] * count, level
        heard.clear()
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="notice"):
        con.execute("SET client_min_messages = loud")


@pytest.mark.parametrize("cursor", [psycopg.Cursor, psycopg.ClientCursor])
def test_set_config(con: psycopg.Connection[Any], cursor: type[psycopg.Cursor[Any]]) -> None:
    con.cursor_factory = cursor
    assert con.execute("SELECT set_config('search_path', 's9', false)").fetchall() == [("s9",)]
    assert text(con, "SELECT a FROM t") == "9"
    con.execute("BEGIN")
    told = con.execute("SELECT pg_catalog.set_config('TimeZone', 'Asia/Tokyo', true) AS zone;")
    assert told.description is not None
    assert (told.description[0].name, told.fetchall()) == ("zone", [("Asia/Tokyo",)])
    assert text(con, NOON) == "2026-01-01 21:00:00+09"
    con.execute("COMMIT")
    assert text(con, NOON) == "2026-01-01 12:00:00+00"


def test_a_long_name_of_a_program_is_cut(serve: Serve) -> None:
    con = connect(serve(), autocommit=True, cursor_factory=psycopg.ClientCursor)
    con.execute(f"SET application_name = '{'é' * 100_000}'")
    assert con.execute("SHOW application_name").fetchone() == ("?" * 63,)


@pytest.mark.cells(2)
@pytest.mark.parametrize("statement", ["SET", "SET -- x = 1", "SET /* x */;", "SET SESSION", "SET LOCAL --"])
def test_a_set_of_nothing_is_a_syntax_error(con: psycopg.Connection[Any], statement: str) -> None:
    with pytest.raises(psycopg.errors.SyntaxError):
        con.execute(statement)


def test_a_client_sees_that_there_is_no_two_phase_commit(con: psycopg.Connection[Any]) -> None:
    assert con.execute("SHOW max_prepared_transactions").fetchone() == ("0",)
    assert con.execute("SELECT current_setting('max_prepared_transactions')").fetchone() == ("0",)
