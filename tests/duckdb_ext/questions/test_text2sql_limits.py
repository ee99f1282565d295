"""The SQL of a question keeps its limits where it runs at last, in any statement and however it is read."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import pyarrow as pa
import pytest
from questions.recorded_answers import ANSWERS, Asking, asking

from relserve.call.relquery import Submission
from relserve.errors import LimitError
from relserve.text2sql.guard import watchdog

ENDLESS = (  # 10^15 rows, none of which passes
    "SELECT count(*) AS n FROM range(100000) a, range(100000) b, range(100000) c "
    "WHERE hash(a.range, b.range, c.range) = 1"
)
NONE_COMES = ENDLESS.replace("count(*)", "a.range")  # no row ever comes, and no end
MANY = "SELECT range AS n FROM range(20000)"
LARGE = "SELECT list(i) AS n FROM range(1000000000) r(i)"
SOON = "limits := {'seconds': 0.1}"


@pytest.fixture
def asked() -> Asking:
    return asking({**ANSWERS, "Endless?": ENDLESS, "Never?": NONE_COMES, "Many?": MANY, "Large?": LARGE})


Read = Callable[[Any, str], Any]  # a connection, and a question's place in FROM
READS: dict[str, Read] = {
    "execute": lambda con, source: con.execute(f"FROM {source}").fetchall(),
    "fetchone": lambda con, source: con.execute(f"FROM {source}").fetchone(),
    "a subquery": lambda con, source: con.execute(f"SELECT (SELECT max(n) FROM {source}) + 1").fetchall(),
    "EXPLAIN ANALYZE": lambda con, source: con.execute(f"EXPLAIN ANALYZE FROM {source}").fetchall(),
    "CREATE TABLE": lambda con, source: con.execute(f"CREATE TABLE made AS FROM {source}"),
    "INSERT": lambda con, source: con.execute(f"CREATE TABLE made(n BIGINT); INSERT INTO made FROM {source}"),
    "a view": lambda con, source: con.execute(f"CREATE VIEW v AS FROM {source}; FROM v").fetchall(),
    "a view over it": lambda con, source: con.execute(
        f"CREATE VIEW v AS FROM {source}; CREATE VIEW w AS SELECT n + 1 AS m FROM v; FROM w"
    ).fetchall(),
    "a macro": lambda con, source: con.execute(
        f"CREATE MACRO m() AS TABLE FROM {source}; FROM m()"
    ).fetchall(),
    "a prepared statement": lambda con, source: con.execute(
        f"PREPARE p AS FROM {source}; EXECUTE p"
    ).fetchall(),
    "a cursor": lambda con, source: con.cursor().execute(f"FROM {source}").fetchall(),
    "executemany": lambda con, source: con.executemany(f"FROM {source} WHERE n > $1", [[1], [2]]).fetchall(),
    "a relation": lambda con, source: con.sql(f"FROM {source}").fetchall(),
    "a relation's rows": lambda con, source: list(con.sql(f"FROM {source}").iter_rows()),
    "a relation shown": lambda con, source: str(con.sql(f"SELECT max(n) FROM {source}")),
    "a relation over it": lambda con, source: con.sql(f"FROM {source}").filter("n > 1").to_arrow_table(),
    "its number of rows": lambda con, source: len(con.sql(f"FROM {source}")),
    "a reader": lambda con, source: con.sql(f"FROM {source}").to_arrow_reader().read_all(),
    "a stream": lambda con, source: list(con.stream(f"FROM {source}")),
    "beside a call": lambda con, source: con.execute(f"SELECT llm('Say {{}}', n) FROM {source}").fetchall(),
    "in a transaction": lambda con, source: con.execute(
        f"BEGIN; SELECT llm('Say {{}}', n) FROM {source}"
    ).fetchall(),
}


# One of each way in which DuckDB runs a statement; all forms are those of too many rows, below.
RUN = (
    "execute", "fetchone", "EXPLAIN ANALYZE", "CREATE TABLE", "a prepared statement", "a cursor",
    "a relation's rows", "a stream", "beside a call", "in a transaction",
)  # fmt: skip


@pytest.mark.cells(2)
@pytest.mark.parametrize(
    ("way", "question"), [*zip(RUN, cycle(["Endless?", "Never?"]), strict=False)], ids=RUN
)
def test_what_does_not_end_is_ended(asked: Asking, way: str, question: str) -> None:
    read = READS[way]
    with pytest.raises(LimitError, match=r"ran for 0\.1 seconds; .*limits := \{'seconds'") as caught:
        read(asked.con, f"text2sql('{question}', {SOON})")
    assert caught.value.limit == "seconds"
    asked.con.execute("ROLLBACK" if way == "in a transaction" else "SELECT 1")
    assert asked.rows("SELECT count(*) FROM beers") == [(3,)]


@pytest.mark.cells(1)
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_too_many_rows_are_an_error(asked: Asking, read: Read) -> None:
    with pytest.raises(LimitError, match=r"more than 10,000 rows; .*limits := \{'rows'") as caught:
        read(asked.con, "text2sql('Many?')")
    assert caught.value.limit == "rows"


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    ("source", "told"),
    [("text2sql('Many?')", "10,000 rows"), (f"text2sql('Never?', {SOON})", r"0\.1 seconds")],
)
def test_programs_that_take_arrows_stream_are_told(asked: Asking, source: str, told: str) -> None:
    with pytest.raises((LimitError, pa.ArrowException), match=told):  # the stream knows texts alone
        pa.table(asked.con.sql(f"FROM {source}"))


def test_memory_is_limited(asked: Asking) -> None:
    with pytest.raises(LimitError, match="100 MB of memory"):
        asked.rows("FROM text2sql('Large?', limits := {'memory_mb': 100, 'seconds': 60})")


@pytest.mark.cells(1)
@pytest.mark.parametrize("limits", ["'none'", "{'rows': 30000}", "{'rows': NULL}"])
def test_the_caller_lifts_a_limit(asked: Asking, limits: str) -> None:
    assert asked.rows(f"SELECT count(*) FROM text2sql('Many?', limits := {limits})") == [(20_000,)]
    assert asked.rows(f"SELECT n FROM text2sql('Many?', limits := {limits}) WHERE n > 19998") == [(19_999,)]


@pytest.mark.long
def test_a_few_of_many_rows_are_no_error(asked: Asking) -> None:
    assert asked.rows("FROM text2sql('Many?') LIMIT 2") == [(0,), (1,)]


def test_the_narrowest_limit_of_a_statement_holds(asked: Asking) -> None:
    asked.con.execute(f"CREATE VIEW slow AS FROM text2sql('Endless?', {SOON})")
    with pytest.raises(LimitError, match=r"ran for 0\.1 seconds"):
        asked.rows("FROM slow, text2sql('Count?')")


@pytest.mark.long
def test_in_python_too(asked: Asking) -> None:
    answer = asked.con.text2sql("Many?")
    assert answer.sql == MANY
    for read in (answer.fetchall, answer.df, answer.arrow, lambda: answer.relation().fetchall()):
        with pytest.raises(LimitError, match="more than 10,000 rows"):
            read()
    assert len(asked.con.text2sql("Many?", limits={"rows": None}).fetchall()) == 20_000
    with pytest.raises(LimitError, match=r"ran for 0\.1 seconds"):
        asked.con.text2sql("Endless?", limits={"seconds": 0.1}).fetchall()


@pytest.mark.long
def test_what_a_model_takes_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    passed_s = 0.0

    def answer(prompt: str, submission: Submission) -> str:
        nonlocal passed_s
        passed_s += 1000.0
        return "fine"

    class Clock:
        @staticmethod
        def monotonic() -> float:
            return passed_s

    monkeypatch.setattr(watchdog, "time", Clock)
    for prefetch in (True, False):
        asked = asking(prefetch=prefetch, script=answer)
        assert len(asked.rows("SELECT llm('Say {}', name) FROM text2sql('Strong?')")) == 3
    assert passed_s == 6000.0


@pytest.mark.long
def test_without_limits_the_sql_stands_alone(asked: Asking) -> None:
    asked.con.execute("CREATE VIEW v AS FROM text2sql('Count?', limits := 'none')")
    ((sql,),) = asked.rows("SELECT sql FROM duckdb_views() WHERE view_name = 'v'")
    assert "QUALIFY" not in sql
    assert asked.rows("SELECT n FROM v") == [(3,)]
