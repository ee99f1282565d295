"""One bad reply, one slow query, or a cancelling asker: what it ends, and what goes on."""

import threading
import time
from collections.abc import Sequence

import duckdb
import pytest

from relserve.errors import Cancelled, UsageError
from relserve.linking.schema import Schema
from relserve.text2sql.cases.database import ANYTHING, Allowance
from relserve.text2sql.cases.results import ShownRows
from relserve.text2sql.duckdb_database import DuckDBDatabase
from relserve.text2sql.guard.limits import StatementLimits
from relserve.text2sql.options import Text2SqlOptions
from relserve.text2sql.pipeline import run
from relserve.text2sql.prompts.replies import sql_in
from tests.text2sql.databases import FILL, MemoryDatabase
from tests.text2sql.replies import engine_of, fenced, session_of
from tests.waiting import PATIENCE_S

COUNT = "SELECT count(*) FROM beers"
SLOW = "SELECT count(*) FROM range(1000000000000000000) a"
FOR_LONG = StatementLimits(seconds=2 * PATIENCE_S)
QUESTIONS = ["good", "bad"]


def of_the_bad(bad: str, good: str = fenced(COUNT)) -> dict[str, object]:
    def reply(prompt: str) -> str:
        return bad if '"bad"' in prompt else good

    return {"candidates": reply, "revision": reply}


def beers() -> duckdb.DuckDBPyConnection:
    con = duckdb.connect()
    con.execute(FILL)
    return con


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    "bad",
    [
        '{"sql": "SELECT \'\\ud800\' FROM beers"}',
        fenced("SELECT '\ud800' FROM beers"),
        fenced("SELECT name FROM beers WHERE name = 'x' AND " + "(" * 90 + "1=1" + ")" * 90),
    ],
)
def test_a_bad_reply_is_its_candidates_problem(bad: str) -> None:
    database = DuckDBDatabase(beers(), Text2SqlOptions())
    good, other = run(QUESTIONS, database, session_of(engine_of(of_the_bad(bad))))  # type: ignore[arg-type]
    assert good.sql == COUNT
    assert other.failure is None or other.failure.problem


def test_whatever_a_database_raises_for_one_question_leaves_the_others() -> None:
    class Odd(MemoryDatabase):
        def golden(self, question: str, k: int) -> Sequence[tuple[str, str]]:
            return [] if question == "good" else 1 / 0  # type: ignore[return-value]

    good, bad = run(QUESTIONS, Odd(), session_of(engine_of({"candidates": fenced(COUNT)})))
    assert good.sql == COUNT
    assert bad.failure is not None
    assert (bad.failure.stage, bad.failure.problem) == ("retrieval", "ZeroDivisionError: division by zero")


def test_who_cancels_ends_a_query_that_runs() -> None:
    cancel, database = threading.Event(), MemoryDatabase()

    class Running(DuckDBDatabase):
        def rows(self, sql: str, within: Allowance = ANYTHING) -> ShownRows:
            threading.Timer(0.3, cancel.set).start()
            return super().rows(sql, within)

    database = Running(beers(), Text2SqlOptions(), limits=FOR_LONG)
    began_s = time.monotonic()
    with pytest.raises(Cancelled):
        run(["?"], database, session_of(engine_of({"candidates": fenced(SLOW)})), cancel=cancel)
    assert time.monotonic() - began_s < PATIENCE_S


def test_an_interrupt_of_who_cancels_is_cancelled() -> None:
    cancel = threading.Event()

    class Interrupted(MemoryDatabase):
        def golden(self, question: str, k: int) -> Sequence[tuple[str, str]]:
            cancel.set()
            raise duckdb.InterruptException("Interrupted!")

    with pytest.raises(Cancelled):
        run(["?"], Interrupted(), session_of(engine_of({})), cancel=cancel)


@pytest.mark.long
def test_queries_run_in_the_time_that_is_left() -> None:
    numbers = iter(range(100))
    engine = engine_of({"candidates": lambda prompt: fenced(f"{SLOW} LIMIT {next(numbers) + 1}")})
    began_s = time.monotonic()
    (outcome,) = run(
        ["?"], DuckDBDatabase(beers(), Text2SqlOptions(), limits=FOR_LONG), session_of(engine),
        Text2SqlOptions(deadline_s=2),
    )  # fmt: skip
    assert time.monotonic() - began_s < PATIENCE_S
    assert outcome.failure is not None
    assert "the deadline of 2 seconds passed" in outcome.failure.problem


def test_the_clock_runs_while_the_schema_is_read() -> None:
    class Slow(MemoryDatabase):
        def schema(self) -> Schema:
            time.sleep(0.3)
            return super().schema()

    engine = engine_of({"candidates": fenced(COUNT)})
    (outcome,) = run(["?"], Slow(), session_of(engine), Text2SqlOptions(deadline_s=0.2))
    assert outcome.failure is not None
    assert engine.num_prompts == 0


def test_a_failure_before_the_stages_is_on_record() -> None:
    session = session_of(engine_of({}))
    database = DuckDBDatabase(duckdb.connect(), Text2SqlOptions())
    with pytest.raises(UsageError, match="no table"):
        run(["?"], database, session)
    (record,) = session.history.workflows.workflows()
    assert record.stages == ("schema",)
    assert record.error is not None
    assert "stage schema: there is no table" in record.error
    assert record.seconds is not None


@pytest.mark.parametrize(
    "said",
    [
        f"{COUNT}; -- all", f"-- all\n{COUNT}", f"{COUNT} /* all", f"{COUNT};;\n", f"/* é */ {COUNT} -- é\n;",
    ],
)  # fmt: skip
def test_comments_and_semicolons_around_a_statement_make_no_other(said: str) -> None:
    assert sql_in(fenced(said)) == COUNT


def test_what_is_inside_a_statement_stays() -> None:
    text = "SELECT ';--é' /* why */ FROM beers"
    assert sql_in(fenced(text)) == text
    assert sql_in(fenced("SELECT 1; DROP TABLE beers")) == "SELECT 1; DROP TABLE beers"
    assert sql_in(fenced("-- nothing")) is None
