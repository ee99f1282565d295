"""The catalog asked by several clients at once: on one connection two threads wait, or are refused."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import duckdb
import psycopg
import pytest

from relserve.server.catalog.attached import users_own
from tests.server.client.conftest import Serve, connect
from tests.waiting import PATIENCE_S

NUM_CLIENTS, NUM_ASKED = 6, 20
TEXTS = (
    "SELECT relname FROM pg_class WHERE relname = 'none'",
    "SELECT usename FROM pg_stat_activity WHERE pid = 0",
    "SELECT table_name FROM information_schema.tables WHERE table_name = 'none'",
    "SELECT typname FROM pg_type, pg_settings WHERE typname = %s AND name = 'none'",
)


@pytest.fixture
def busy() -> Iterator[tuple[duckdb.DuckDBPyConnection, threading.Thread]]:
    """A connection, and the thread whose statement runs on it until the test ends."""
    con = duckdb.connect()
    con.execute("CREATE TABLE pg_mine (a INTEGER)")
    has_begun, may_end = threading.Event(), threading.Event()

    def wait(number: int) -> int:
        has_begun.set()
        may_end.wait(PATIENCE_S)
        return number

    con.create_function("wait_here", wait, ["INTEGER"], "INTEGER", side_effects=True)
    thread = threading.Thread(target=lambda: con.execute("SELECT wait_here(1)"), daemon=True)
    thread.start()
    assert has_begun.wait(PATIENCE_S)
    yield con, thread
    may_end.set()
    thread.join(PATIENCE_S)


def test_names_are_found_while_another_thread_asks(
    busy: tuple[duckdb.DuckDBPyConnection, threading.Thread],
) -> None:
    con, thread = busy
    assert users_own(con, frozenset(["pg_mine", "pg_class"])) == {"pg_mine"}
    assert thread.is_alive(), "it waited for the other thread's statement"


@pytest.mark.long
def test_clients_ask_at_once(serve: Serve) -> None:
    server = serve()
    start = threading.Barrier(NUM_CLIENTS)

    def ask(number: int) -> list[str]:
        failed = []
        with connect(server, autocommit=True) as con:
            start.wait(PATIENCE_S)
            for turn in range(NUM_ASKED):
                text = TEXTS[(number + turn) % len(TEXTS)]
                try:
                    assert con.execute(text, ["none"] if "%s" in text else None).fetchall() == []
                except psycopg.Error as error:
                    failed.append(f"{error.sqlstate} {error}")
        return failed

    with ThreadPoolExecutor(NUM_CLIENTS) as pool:
        assert [error for errors in pool.map(ask, range(NUM_CLIENTS)) for error in errors] == []
