"""A client's text that is nested too deep: it is told so at once, and nobody waits for it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from relserve.server.catalog.catalog import SHORT
from relserve.server.users.lockdown import Allowed, check_allowed
from tests.server.client.conftest import Serve, connect
from tests.waiting import PATIENCE_S, wait_until

WITHS = "WITH a AS (" * 12
DEEP = "SELECT " + "(" * 4_000
TEXTS = {
    "alone": WITHS,
    "brackets": DEEP,
    "after another": f"SELECT 1; {WITHS}",
    "explained": f"EXPLAIN ANALYZE {DEEP}",
    "prepared": f"PREPARE p AS {WITHS}",
    "stored": f"CREATE VIEW v AS {DEEP}",
    "copied": f"COPY ({WITHS}{')' * 13} TO STDOUT",
    "of the catalog": f"SELECT relname FROM pg_class WHERE {'(' * 4_000}",
    "asking the model": f"SELECT llm('x {{}}', {'(' * 4_000}",
}


@pytest.mark.parametrize("extended", [False, True], ids=["simple", "extended"])
def test_a_text_that_is_nested_too_deep_is_refused_at_once(serve: Serve, extended: bool) -> None:
    con = connect(serve(), autocommit=True)
    for name, text in TEXTS.items():
        if name == "after another" and extended:
            continue
        with pytest.raises(psycopg.errors.StatementTooComplex, match="deep, and this has"):
            con.execute(text, binary=extended, prepare=extended)
    assert con.execute("SELECT 1").fetchone() == (1,)


def test_texts_in_values_are_not_parsed(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    for function in ("json_serialize_sql", "json_serialize_plan"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match=function):
            con.execute(f"SELECT {function}(repeat('(', 4000))")
    assert con.execute("SELECT length(%s)", [DEEP]).fetchone() == (len(DEEP),)


def test_brackets_that_do_not_match_are_a_syntax_error(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    for text in ("SELECT (((((1))))", "SELECT (1"):
        with pytest.raises(psycopg.errors.SyntaxError):
            con.execute(text)


def test_long_texts_are_checked_one_at_a_time_and_short_ones_beside_them(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = f"SELECT length('{'x' * 2 * SHORT}')"
    checking, most, goes_on = [0], [0], threading.Event()

    def watched(con: object, text: str, *more: object) -> list[Allowed]:
        if len(text) < SHORT:
            return check_allowed(con, text, *more)  # type: ignore[arg-type]
        checking[0] += 1
        most[0] = max(most[0], checking[0])
        assert goes_on.wait(PATIENCE_S)
        checking[0] -= 1
        return check_allowed(con, text, *more)  # type: ignore[arg-type]

    monkeypatch.setattr("relserve.server.client.worker.check_allowed", watched)
    server = serve()
    with ThreadPoolExecutor(4) as pool:
        clients = [connect(server, autocommit=True) for _ in range(4)]
        asked = [pool.submit(lambda con: con.execute(long).fetchone(), con) for con in clients]
        try:
            wait_until(lambda: sum(each.statement == long for each in server.clients()) == 4 and checking[0])
            assert connect(server).execute("SELECT 1").fetchone() == (1,)
        finally:
            goes_on.set()
        assert [each.result(PATIENCE_S) for each in asked] == [(2 * SHORT,)] * 4
    assert most[0] == 1
