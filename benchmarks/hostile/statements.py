"""SQL of a plain user who wants what is not theirs."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import psycopg

from benchmarks.hostile.house import MARKER, AttackedServer
from benchmarks.hostile.outcome import PATIENCE_S, HostileOutcome
from benchmarks.hostile.texts import ON_A_SERVER, REFUSED, SHOWS_NOTHING


def refused(house: AttackedServer) -> HostileOutcome:
    """What a plain user may not run, by the simple and the extended protocol: nothing of it may work."""
    outcome = HostileOutcome("SQL for what is not theirs")
    before = _files(house.folder)
    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.settimeout(0.5)
        port = trap.getsockname()[1]
        for text in (*REFUSED, *ON_A_SERVER):
            for kind in (psycopg.ClientCursor, psycopg.Cursor):
                outcome.cases += 1
                expect_refusal(
                    house, text.format(db=house.database, folder=house.folder, port=port), kind, outcome
                )
        try:
            trap.accept()
        except TimeoutError:
            pass
        else:
            outcome.tell("leaked", "the server called an address that a user named")
    if new := sorted(_files(house.folder) - before):
        outcome.tell("leaked", f"files were written: {new}")
    return outcome


def expect_refusal(
    house: AttackedServer, text: str, kind: type[psycopg.Cursor[tuple[object, ...]]], outcome: HostileOutcome
) -> None:
    """Have a plain user run statements of which the last may not work."""
    began = time.monotonic()
    try:
        with house.connect("mallory") as con, kind(con) as cursor:
            for each in text.split(" && "):
                cursor.execute(each.encode())
            outcome.tell(
                "leaked", f"{text} ran: {cursor.fetchall() if cursor.description else cursor.statusmessage}"
            )
    except psycopg.Error as error:
        if error.sqlstate is None or error.sqlstate.startswith(("XX", "08")):
            outcome.tell("crashed", f"{text}: {error}")
        if "root:x:0" in str(error) or MARKER in str(error):
            outcome.tell("leaked", f"{text}: {error}")
    if time.monotonic() - began > PATIENCE_S:
        outcome.tell("hung", f"{text} took {time.monotonic() - began:.0f} s")


def looks_around(house: AttackedServer) -> HostileOutcome:
    """What a plain user may ask about the server, while the victim has secrets: no answer shows one."""
    outcome = HostileOutcome("SQL about others", len(SHOWS_NOTHING))
    with house.connect("victim") as victim:
        hide(victim)
        for text in SHOWS_NOTHING:
            try:
                with house.connect("mallory") as con:
                    seen = str(con.execute(text.encode()).fetchall())
            except psycopg.Error as error:
                seen = str(error)
            if MARKER in seen:
                outcome.tell("leaked", f"{text}: {seen[max(0, seen.index(MARKER) - 100) :]}")
        try:
            row = victim.execute("SELECT count(*) FROM hidden").fetchone()
            if row != (1,):
                outcome.tell("leaked", f"the victim's table has {row}")
        except psycopg.Error as error:
            outcome.tell("crashed", f"the victim's session: {error}")
    return outcome


def hide(con: psycopg.Connection[tuple[object, ...]]) -> None:
    """Have secrets in every place that a session has for them."""
    for text in (
        f"CREATE TEMP TABLE hidden AS SELECT '{MARKER}' AS secret",
        f"PREPARE hidden_statement AS SELECT '{MARKER}'",
        f"SET VARIABLE hidden_variable = '{MARKER}'",
        f"CREATE TEMP MACRO hidden_macro() AS '{MARKER}'",
        f"SELECT llm('{MARKER} {{}}', secret) FROM hidden",
        f"SELECT llm_extract('{MARKER} {{}}', secret, schema := '{{\"a\": \"DATE\"}}') FROM hidden",
        "BEGIN",
        f"DECLARE hidden_cursor CURSOR WITH HOLD FOR SELECT '{MARKER}'",
        "COMMIT",
        f"SELECT '{MARKER}'",
    ):
        con.execute(text.encode())


OVERTIME_S = 90.0  # DuckDB ends no single call of a function, and repeat() of a gigabyte is one
# These may run or not; the server lives on, and so does everybody else's work.
HOGS = {
    "deep": "SELECT " + "(" * 50_000 + "1" + ")" * 50_000,
    "chain": "SELECT a" + ".a" * 5_000,
    "unions": "SELECT 1 " + "UNION ALL SELECT 1 " * 5_000,
    "types": "SELECT NULL::INT" + "[]" * 20_000,
    "list": "SELECT list(range) FROM range(1000000000)",
    "sort": "SELECT max(s) FROM (SELECT repeat('x', 999) || range s FROM range(5000000) ORDER BY hash(s))",
    "string": "SELECT length(repeat('a', 1000000000))",
    "strings": "SELECT sum(length(repeat('a', 1000000000))) FROM range(60)",
    "texts": "SELECT length(string_agg(repeat('a', 1000000), '')) FROM range(20000)",
    "width": "SELECT printf('%1000000000d', 1)",
    "cross": "SELECT count(*) FROM range(10000000) a, range(10000000) b",
    "recursive": "WITH RECURSIVE r AS (SELECT 1 a UNION ALL SELECT a + 1 FROM r) SELECT count(*) FROM r",
    "regex": "SELECT regexp_matches(repeat('a', 1000000), '(a*)*b')",
    "sleep": "SELECT sleep_ms(1000000)",
    "json": "SELECT '" + "[" * 300_000 + "'::JSON",
    "prompts": "SELECT llm('Say {}', range) FROM range(200000)",
    "prompt": "SELECT llm('Say {}', repeat('x', 50000000))",
}


def hogs(house: AttackedServer, timeout_s: int) -> HostileOutcome:
    """Statements that want all memory, all time or all depth, each with a time-out."""
    outcome = HostileOutcome("SQL that wants everything", len(HOGS))
    for name, text in HOGS.items():
        began = time.monotonic()
        try:
            with house.connect("mallory") as con:
                con.execute(f"SET statement_timeout = '{timeout_s}s'".encode())
                con.execute(text.encode()).fetchmany(10)
        except psycopg.Error as error:
            if error.sqlstate is None or not house.is_up:
                outcome.tell("crashed", f"{name}: {error}")
        took_s = time.monotonic() - began
        if took_s > timeout_s + PATIENCE_S:
            outcome.said.append(f"{name} took {took_s:.0f} s, its time-out was {timeout_s} s")
        if took_s > timeout_s + OVERTIME_S:
            outcome.tell("hung", f"{name} took {took_s:.0f} s, its time-out was {timeout_s} s")
    return outcome


def _files(folder: Path) -> set[str]:
    return {str(path) for path in folder.rglob("*") if "cache" not in path.parts and ".tmp" not in str(path)}
