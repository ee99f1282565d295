"""Ctrl-C and con.interrupt(): back within a second, requests aborted, the next query works."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sql_fixtures import make

from relserve.engines.scripted import echo
from tests.waiting import Limit, act_when

QUERIES = {
    "prefetch": "SELECT llm('x {}', id) FROM p",
    "aggregate": "SELECT count(llm('x {}', id)) FROM p",
    "write": "CREATE TABLE n AS SELECT llm('x {}', id) AS y FROM p",
    "view": "SELECT count(*) FROM v WHERE y > ''",
}

# A process of its own: SIGINT reaches the main thread, as from a terminal
PROGRAM = """
import json, os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs inherit SIG_IGN
sys.path[:0] = {paths!r}
from sql_fixtures import make

from relserve.engines.scripted import echo
from tests.waiting import act_when
made = make(prefetch={prefetch}, chunk=4, pause_s=0.2)
made.rows("SELECT llm('warm {{}}', id) FROM p LIMIT 3")
runs = {{name: lambda sql=sql: made.rows(sql) for name, sql in {queries!r}.items()}}
runs["relation"] = lambda: made.con.sql({queries!r}["prefetch"]).df()
for name, run in runs.items():
    aborted, before, start = made.engine.aborted, made.engine.num_prompts, time.monotonic()
    act_when(lambda: made.engine.num_prompts > before, lambda: os.kill(os.getpid(), signal.SIGINT))
    try:
        run()
        seen = "no exception"
    except BaseException as error:
        seen = type(error).__name__
    seconds = time.monotonic() - start
    time.sleep(0.3)
    asked = made.engine.num_answered
    time.sleep(0.3)
    print(json.dumps(dict(
        name=name, seen=seen, seconds=seconds, idle=asked == made.engine.num_answered,
        aborted=made.engine.aborted > aborted, next=len(made.rows("SELECT llm('next {{}}', 1)")),
        restored=signal.getsignal(signal.SIGINT) is signal.default_int_handler,
    )))
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.performance
@pytest.mark.parametrize("prefetch", [True, False])
def test_ctrl_c(prefetch: bool, limit_s: Limit) -> None:
    paths = [str(Path(__file__).parents[1]), *sys.path]
    program = PROGRAM.format(paths=paths, prefetch=prefetch, queries=QUERIES)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    seen = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each.pop("name") for each in seen] == [*QUERIES, "relation"]
    for each in seen:
        assert each.pop("seconds") < limit_s(1.3)
        assert each == dict(seen="KeyboardInterrupt", idle=True, aborted=True, next=1, restored=True)


@pytest.mark.cells(2)
@pytest.mark.performance
@pytest.mark.parametrize("prefetch", [True, False])
@pytest.mark.parametrize("name", QUERIES)
def test_interrupt_from_another_thread(name: str, prefetch: bool, limit_s: Limit) -> None:
    made = make(prefetch, chunk=4, pause_s=0.2)
    act_when(lambda: made.engine.num_prompts, made.con.interrupt)
    start = time.monotonic()
    with pytest.raises(duckdb.InterruptException):
        made.rows(QUERIES[name])
    assert time.monotonic() - start < limit_s(1.4)
    assert made.rows("SELECT count(*) FROM llm_queries() WHERE state <> 'cancelled'") == [(0,)]
    assert len(made.rows("SELECT llm('next {}', 1)")) == 1


@pytest.mark.long
def test_two_threads_on_one_connection() -> None:
    made = make(chunk=100, pause_s=0.001)
    expected = {k: make(prefetch=False).rows(_query(k)) for k in range(2)}
    wrong: list[Any] = []

    def work(k: int) -> None:
        for _ in range(5):
            relation = made.con.sql(_query(k))
            if relation is None or relation.fetchall() != expected[k]:
                wrong.append(k)

    _in_threads(work, 2)
    assert wrong == []


@pytest.mark.performance
def test_cursors_in_threads_run_side_by_side(limit_s: Limit) -> None:
    made = make(chunk=500, pause_s=0.3)
    cursors = [made.con.cursor() for _ in range(4)]
    start = time.monotonic()
    _in_threads(lambda k: cursors[k].execute(_query(k)).fetchall(), 4)
    assert time.monotonic() - start < limit_s(4 * 2 * 0.3)
    assert made.asked == (2000, 4)


def test_parallel_chunks_ask_each_prompt_once() -> None:
    made = make(prefetch=False, chunk=10, pause_s=0.001)
    made.con.execute("SET threads = 4; CREATE TABLE many AS SELECT i % 50 AS k FROM range(500000) r(i)")
    assert made.rows("SELECT count(DISTINCT llm('{}', k)) FROM many") == [(50,)]
    assert made.engine.num_prompts == 50


def _query(k: int) -> str:
    return f"SELECT id, llm('thread {k} {{}}', body) FROM p ORDER BY id"


def _in_threads(work: Any, n: int) -> None:
    threads = [threading.Thread(target=work, args=(k,)) for k in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)


def test_a_result_that_another_thread_ended_is_an_error_not_somebody_elses_rows() -> None:
    con = make(script=echo).con
    con.execute("SELECT llm('{}', i) FROM range(5) t(i)")
    other = threading.Thread(target=lambda: con.execute("SELECT 'theirs'"))
    other.start()
    other.join()
    with pytest.raises(
        duckdb.InvalidInputException, match=r"give each thread a connection of its own.*cursor"
    ):
        con.fetchall()
    assert con.execute("SELECT llm('{}', 1)").fetchall() == [("1",)]


def test_a_thread_may_read_what_another_one_executed() -> None:
    con = make(script=echo).con
    con.execute("SELECT llm('{}', 7)")
    rows: list[tuple[str]] = []
    reader = threading.Thread(target=lambda: rows.extend(con.fetchall()))
    reader.start()
    reader.join()
    assert rows == [("7",)]
