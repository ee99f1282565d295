"""Cursors of a connection: what they know of each other, and what they leave behind."""

from __future__ import annotations

import gc
import statistics
import time
import weakref
from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from relserve_duckdb import Connection, attach
from relserve_duckdb.user.python_client import PythonClient
from sql_fixtures import Made

from relserve.call.options import FUNCTIONS
from relserve.session import session as sessions
from tests.waiting import Limit, wait_until

TABLES = ("__llm_queries", "__llm_errors", "__llm_usage", "__llm_batches", "__llm_workflows", "__llm_steps")
OWN = {"__llm_calibrate": "1, 'x', []", "__llm_cluster": "1, 1, []"}  # and the arguments of each


def _sql(made: Made, text: str, **kwargs: Any) -> Any:
    relation = made.con.sql(text, **kwargs)
    assert relation is not None
    return relation


def _functions_in_catalog(raw: duckdb.DuckDBPyConnection) -> set[str]:
    text = "SELECT function_name FROM duckdb_functions() WHERE starts_with(function_name, '__llm')"
    return {name for (name,) in raw.execute(text).fetchall()}


class Session(sessions.Session):
    """One that can be watched."""


def _used(made: Made, use: Callable[[Connection], object]) -> tuple[weakref.ref[Session], object]:
    """Use a cursor with a session of its own, and drop it: what tells whether that is held, and the use."""
    session = Session(lambda model: made.engine)
    return weakref.ref(session), use(made.con.cursor_for(session, PythonClient(False)))


def _is_freed(session: weakref.ref[Session]) -> bool:
    gc.collect()
    return session() is None


def _sql_reader(cursor: Connection) -> pa.RecordBatchReader:
    relation = cursor.sql("SELECT llm('x {}', id) FROM p")
    assert relation is not None
    return relation.to_arrow_reader(100)


def test_a_cursor_prefetches_views_that_another_one_made(made: Made) -> None:
    with made.con.cursor() as one, made.con.cursor() as other:
        one.execute("CREATE VIEW fresh AS SELECT llm('f {}', id) AS y FROM p")
        assert len(other.execute("FROM fresh").fetchall()) == 10000
    assert made.asked == (10000, 1)


def test_cursors_share_the_functions_in_the_catalog(made: Made) -> None:
    plain, con = made.con.raw.cursor(), attach(made.con.raw.cursor(), made.con.session)
    before = _functions_in_catalog(plain)
    assert len(before) == 2 * (len(FUNCTIONS) + len(TABLES) + len(OWN))
    with con.cursor() as cursor:
        cursor.cursor()
        assert _functions_in_catalog(plain) == before
    con.cursor().execute("SELECT llm('x {}', id) FROM p").fetchone()
    con.close()
    assert len(_functions_in_catalog(plain)) == len(before) / 2


@pytest.mark.cells(1)
@pytest.mark.parametrize("text", ["SELECT llm('x {}', id) FROM p", "BEGIN; SELECT llm('x {}', 1)"])
def test_a_closed_cursor_is_freed(made: Made, text: str) -> None:
    def read_and_close(cursor: Connection) -> None:
        cursor.execute(text).fetchone()
        cursor.close()

    session, _ = _used(made, read_and_close)
    wait_until(lambda: _is_freed(session))
    assert made.rows("SELECT llm('x {}', 1)") == [("x 1",)]


@pytest.mark.long
def test_dropped_cursors_are_freed_once_they_are_read(made: Made) -> None:
    read, _ = _used(made, lambda cursor: cursor.execute("SELECT llm('x {}', 1)").fetchall())
    unread, reader = _used(made, _sql_reader)
    assert isinstance(reader, pa.RecordBatchReader)
    made.con.cursor()
    wait_until(lambda: _is_freed(read))
    assert not _is_freed(unread)
    assert sum(batch.num_rows for batch in reader) == 10000
    made.con.cursor()
    wait_until(lambda: _is_freed(unread))


def test_no_connection_calls_for_another(made: Made) -> None:
    with made.con.cursor() as other, made.con.raw.cursor() as plain:
        made.rows("SELECT llm('secret {}', 1)")
        for name in _functions_in_catalog(plain):  # without the macro that holds a connection's key
            arguments = "'{}', '{}', 1, 'x'"
            if name.startswith(TABLES):
                arguments = "1"
            for start, own in OWN.items():
                arguments = own if name.startswith(start) else arguments
            for con in (other, other.raw, plain):
                with pytest.raises(duckdb.InvalidInputException, match="belongs to another connection"):
                    con.execute(f"SELECT {name}({arguments})").fetchall()
    assert made.asked == (1, 1)


@pytest.mark.performance
def test_a_cursor_is_made_quickly(made: Made, limit_s: Limit) -> None:
    taken = []
    for _ in range(20):
        started = time.perf_counter()
        with made.con.cursor() as cursor:
            taken.append(time.perf_counter() - started)
            cursor.execute("SELECT llm('x {}', 1)").fetchall()
            assert cursor.execute("SELECT 1").fetchall() == [(1,)]
    assert statistics.median(taken) < limit_s(10e-3, busy=1)


@pytest.mark.performance
def test_a_text_without_calls_runs_as_quickly_as_on_duckdb_itself(made: Made, limit_s: Limit) -> None:
    taken = []
    for _ in range(200):
        started = time.perf_counter()
        made.con.execute("SELECT 1").fetchall()
        taken.append(time.perf_counter() - started)
    assert statistics.median(taken) < limit_s(0.3e-3, busy=0.1)
