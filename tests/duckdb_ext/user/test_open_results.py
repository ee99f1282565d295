"""Results that are read in part: left, closed or interrupted, they ask nothing more, and nothing is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import duckdb
import pytest
from guests import Guest
from relserve_duckdb import Connection
from sql_fixtures import Made, make

from relserve.engines.scripted import ScriptedEngine, echo
from relserve.session.session import Session
from tests.waiting import Limit, act_when

ROWS = 600_000
TEXT = f"SELECT i, llm('x {{}}', i) FROM range({ROWS}) t(i)"
SMALL_BUFFER = "SET streaming_buffer_size = '100KB'"  # fewer rows are made before the first is read


class Slow(NamedTuple):
    """A guest whose engine takes its time for each chunk of rows."""

    con: Connection
    engine: ScriptedEngine

    def is_idle(self) -> bool:
        """Whether the engine answers nothing more."""
        before = self.engine.num_answered
        time.sleep(0.2)
        return self.engine.num_answered == before


@pytest.fixture
def world() -> Iterator[Made]:
    made = make(prefetch=False, script=echo)
    yield made
    made.con.close()


@pytest.fixture
def slow(world: Made) -> Slow:
    engine = ScriptedEngine(script=echo, chunk=4096, pause_s=0.02)
    return Slow(world.con.cursor_for(Session(lambda model: engine), Guest()), engine)


def _close(slow: Slow) -> None:
    slow.con.close()


def _ask_nothing(slow: Slow) -> None:
    assert slow.con.execute("SELECT 1").fetchall() == [(1,)]


def _ask_something(slow: Slow) -> None:
    assert slow.con.execute("SELECT llm('y {}', 1)").fetchall() == [("y 1",)]


def _interrupt(slow: Slow) -> None:
    slow.con.interrupt()
    _ask_something(slow)


@pytest.mark.cells(3)
@pytest.mark.performance
@pytest.mark.parametrize("end", [_close, _ask_nothing, _ask_something, _interrupt])
def test_what_is_left_asks_nothing_more(slow: Slow, end: Callable[[Slow], None], limit_s: Limit) -> None:
    assert slow.con.execute(TEXT).fetchone() == (0, "x 0")
    started, answered = time.monotonic(), slow.engine.num_answered
    end(slow)
    assert time.monotonic() - started < limit_s(1)
    assert slow.is_idle()
    assert slow.engine.num_answered < answered + 20_000


@pytest.mark.performance
def test_nor_does_a_stream(slow: Slow, limit_s: Limit) -> None:
    slow.con.execute(SMALL_BUFFER)
    stream = slow.con.stream(TEXT, batch_rows=100)
    assert stream is not None
    assert next(iter(stream)).num_rows == 100
    started = time.monotonic()
    slow.con.interrupt()
    stream.close()
    assert time.monotonic() - started < limit_s(0.5)
    assert slow.is_idle()
    assert slow.engine.num_answered < ROWS / 2
    _ask_something(slow)


@pytest.mark.performance
def test_an_interrupt_from_another_thread(slow: Slow, limit_s: Limit) -> None:
    stopped: list[float] = []

    def stop() -> None:
        stopped.append(time.monotonic())
        slow.con.interrupt()

    act_when(lambda: slow.engine.num_answered > 20_000, stop)
    with pytest.raises(duckdb.InterruptException):
        slow.con.execute(TEXT).fetchall()
    assert time.monotonic() - stopped[0] < limit_s(0.5)
    assert slow.is_idle()
    _ask_something(slow)


def test_an_open_transaction_goes_on(slow: Slow) -> None:
    con = slow.con
    con.execute(SMALL_BUFFER)
    con.execute("BEGIN; INSERT INTO empty(id) VALUES (5)")
    con.execute(TEXT).fetchone()
    assert con.execute("SELECT id FROM empty").fetchall() == [(5,)]
    con.execute("COMMIT")
    assert con.execute("SELECT id FROM empty").fetchall() == [(5,)]


@pytest.mark.long
def test_what_writes_writes_to_the_end(slow: Slow) -> None:
    con = slow.con
    text = "INSERT INTO empty(id, body) SELECT i, llm('x {}', i) FROM range(50000) t(i) RETURNING body"
    assert con.execute(text).fetchone() == ("x 0",)
    written = con.execute("SELECT count(*), count(body), max(id) FROM empty").fetchall()
    assert written == [(50_000, 50_000, 49_999)]


def test_one_guest_that_is_stopped_stops_no_other(world: Made, slow: Slow) -> None:
    engine = ScriptedEngine(script=echo, chunk=100, pause_s=0.005)
    other = world.con.cursor_for(Session(lambda model: engine), Guest())
    rows: list[Any] = []
    thread = threading.Thread(
        target=lambda: rows.extend(other.execute("SELECT llm('{}', id) FROM p").fetchall())
    )
    thread.start()
    slow.con.execute(SMALL_BUFFER)
    for _ in range(5):
        slow.con.execute(TEXT).fetchone()
        slow.con.interrupt()
        _ask_nothing(slow)
    thread.join(timeout=60)
    assert len(set(rows)) == 10_000
    assert None not in rows
