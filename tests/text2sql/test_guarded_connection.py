"""Generated SQL runs within its limits, writes nothing, and leaves the user's connection as it was."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from relserve.errors import LimitError, UnsafeSqlError, UsageError
from relserve.linking.schema import Schema, Table
from relserve.text2sql.guard.connection import GuardedConnection
from relserve.text2sql.guard.limits import StatementLimits

ENDS_WITHIN_S = 60.0  # on a busy machine


@pytest.fixture
def con(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The user's connection to a database on disk."""
    with duckdb.connect(tmp_path / "shop.duckdb") as con:
        con.execute("CREATE TABLE t AS SELECT range AS a, 'x' || range AS b FROM range(100000)")
        yield con


@pytest.fixture
def guarded(con: duckdb.DuckDBPyConnection) -> GuardedConnection:
    """What generated SQL runs on."""
    return GuardedConnection(con.cursor())


def test_rows_come_in_their_order_with_their_names(guarded: GuardedConnection) -> None:
    table = guarded.rows("SELECT b, a AS n, a AS n FROM t WHERE a < 3 ORDER BY a DESC")
    assert table.column_names == ["b", "n", "n"]
    assert list(zip(*(column.to_pylist() for column in table.columns), strict=True)) == [
        ("x2", 2, 2), ("x1", 1, 1), ("x0", 0, 0),
    ]  # fmt: skip
    assert guarded.rows("SELECT a FROM t WHERE false").num_rows == 0


def test_a_text_is_bound_without_running(guarded: GuardedConnection) -> None:
    assert guarded.explain("SELECT a, b AS c, a / 0 FROM t, range(10000000000)") == [
        ("a", "BIGINT"), ("c", "VARCHAR"), ("(a / 0)", "DOUBLE"),
    ]  # fmt: skip
    with pytest.raises(duckdb.BinderException, match='"nope" not found'):
        guarded.explain("SELECT nope FROM t")


def test_a_refused_text_does_not_run(con: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    guarded = GuardedConnection(con.cursor(), allowed=Schema((Table("t", ()),)))
    for sql in ("DROP TABLE t", f"WITH x AS (COPY t TO '{tmp_path}/out.csv') SELECT 1", "DELETE FROM t"):
        for run in (guarded.rows, guarded.explain):
            with pytest.raises(UnsafeSqlError):
                run(sql)
    assert con.execute("SELECT count(*) FROM t").fetchone() == (100000,)
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".csv"] == []


@pytest.mark.cells(2)
@pytest.mark.parametrize(
    ("sql", "limit"),
    [
        ("SELECT count(*) FROM t x, t y, t z WHERE x.a + y.a + z.a = 7", "seconds"),
        (
            "WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM r) SELECT count(*) FROM r",
            "seconds",
        ),
        ("SELECT list(i) FROM range(1000000000) r(i)", "memory_mb"),
        ("SELECT i FROM range(1000000000) r(i) ORDER BY hash(i) LIMIT 900000000", "memory_mb"),
        ("SELECT a FROM t", "rows"),
    ],
)
def test_a_statement_is_ended_at_its_limit(con: duckdb.DuckDBPyConnection, sql: str, limit: str) -> None:
    limits = StatementLimits(seconds=0.3 if limit == "seconds" else ENDS_WITHIN_S, memory_mb=100, rows=1000)
    guarded = GuardedConnection(con.cursor(), limits)
    began = time.monotonic()
    with pytest.raises(LimitError, match=rf"limits := {{'{limit}'") as ended:
        guarded.rows(sql)
    assert ended.value.limit == limit
    assert time.monotonic() - began < ENDS_WITHIN_S
    assert guarded.rows("SELECT count(*) FROM t").to_pylist() == [{"count_star()": 100000}]


@pytest.mark.long
def test_recursion_on_several_threads_is_ended_whenever_its_time_is_over() -> None:
    """By interrupts alone one in thirty hung: see `deadline`."""
    doubling = "WITH RECURSIVE r AS (SELECT 1 a UNION ALL SELECT a + 1 FROM r, range(2)) SELECT max(a) FROM r"
    with duckdb.connect(config={"threads": 2}) as con:
        for number in range(80):
            limits = StatementLimits(seconds=0.02 + number / 2000, memory_mb=8000)
            with pytest.raises(LimitError, match="seconds"):
                GuardedConnection(con, limits).rows(doubling)
        assert con.execute("SELECT current_setting('max_execution_time')").fetchall() == [(0,)]


def test_temporary_files_are_limited(tmp_path: Path) -> None:
    config: dict[str, str | bool | int | float | list[str]] = {"memory_limit": "60MB", "threads": 1}
    with duckdb.connect(tmp_path / "small.duckdb", config=config) as con:
        guarded = GuardedConnection(
            con.cursor(), StatementLimits(seconds=ENDS_WITHIN_S, memory_mb=4000, disk_mb=30)
        )
        with pytest.raises(LimitError, match="temporary files") as ended:
            guarded.rows("SELECT i FROM range(100000000) r(i) ORDER BY hash(i) LIMIT 90000000")
        assert ended.value.limit == "disk_mb"


def test_rows_can_be_cut_instead(con: duckdb.DuckDBPyConnection) -> None:
    guarded = GuardedConnection(con.cursor(), StatementLimits(rows=5))
    table, is_cut = guarded.first_rows("SELECT a FROM t ORDER BY a")
    assert (table["a"].to_pylist(), is_cut) == ([0, 1, 2, 3, 4], True)
    assert guarded.rows("SELECT a FROM t ORDER BY a LIMIT 5").num_rows == 5


@pytest.mark.long
def test_the_users_transaction_result_and_settings_stay(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("SET threads = 2; BEGIN; INSERT INTO t VALUES (-1, 'mine')")
    reading = con.execute("SELECT a FROM t WHERE a < 2 ORDER BY a")
    guarded = GuardedConnection(con.cursor(), StatementLimits(seconds=ENDS_WITHIN_S))
    assert guarded.rows("SELECT min(a) AS a FROM t").to_pylist() == [{"a": 0}]
    guarded.limits = StatementLimits(seconds=0.5)
    with pytest.raises(LimitError):
        guarded.rows("SELECT count(*) FROM t x, t y, t z WHERE x.a + y.a + z.a = 7")
    assert reading.fetchall() == [(-1,), (0,), (1,)]
    con.execute("ROLLBACK")
    assert con.execute("SELECT min(a), current_setting('threads') FROM t").fetchall() == [(0, 2)]


def test_temporary_tables_are_read_on_their_own_connection(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TEMP TABLE mine AS SELECT 7 AS a")
    assert GuardedConnection(con).rows("FROM mine").to_pylist() == [{"a": 7}]
    with pytest.raises(UnsafeSqlError):
        GuardedConnection(con.cursor()).rows("FROM mine")
    con.execute("INSERT INTO mine VALUES (8)")
    assert con.execute("SELECT sum(a) FROM mine").fetchall() == [(15,)]
    con.execute("BEGIN; INSERT INTO mine VALUES (9)")
    with pytest.raises(UsageError, match="outside a transaction"):
        GuardedConnection(con).rows("FROM mine")
    con.execute("COMMIT")
    assert con.execute("SELECT sum(a) FROM mine").fetchall() == [(24,)]


def test_an_error_of_duckdb_is_its_own_and_the_next_statement_runs(guarded: GuardedConnection) -> None:
    with pytest.raises(duckdb.ConversionException, match="Could not convert"):
        guarded.rows("SELECT b::INT FROM t")
    assert guarded.rows("SELECT 1 AS one").to_pylist() == [{"one": 1}]


def test_an_interrupt_from_elsewhere_is_no_limit(con: duckdb.DuckDBPyConnection) -> None:
    cursor = con.cursor()
    guarded = GuardedConnection(cursor, StatementLimits(seconds=ENDS_WITHIN_S))
    timer = threading.Timer(0.5, cursor.interrupt)
    timer.start()
    with pytest.raises(duckdb.InterruptException):
        guarded.rows("SELECT count(*) FROM t x, t y, t z WHERE x.a + y.a + z.a = 7")
    timer.join()


_WANTS_ALL = """
import duckdb
from relserve.errors import LimitError
from relserve.machine import memory_limit
from relserve.text2sql.guard.connection import GuardedConnection
from relserve.text2sql.guard.limits import StatementLimits
memory_limit.free_bytes = lambda: 800 << 20
con = duckdb.connect()
con.execute("CREATE TABLE t AS SELECT repeat('x', 1000) || range AS b FROM range(5000)")
guarded = GuardedConnection(con.cursor(), StatementLimits(seconds=60, memory_mb=100_000))
try:
    guarded.rows("SELECT sum(length(repeat(b, 1000))) FROM t")
except LimitError as error:
    print(error.limit)
print(guarded.rows("SELECT count(*) AS n FROM t")["n"].to_pylist())
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process's memory so")
def test_one_call_that_wants_all_memory_fails_and_the_process_lives_on() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WANTS_ALL], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.split() == ["memory_mb", "[5000]"]
