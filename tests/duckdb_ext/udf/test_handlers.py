"""Each way of running answers chunks in its own way; skipped prompts hold while no other cursor writes."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
from relserve_duckdb.udf import connection_state
from relserve_duckdb.udf.connection_state import ConnectionState
from relserve_duckdb.udf.handlers import Collecting, Planning, PlanningOnly, Running
from relserve_duckdb.udf.site import Chunk, find_site
from relserve_duckdb.udf.skipped import EveryPrompt, SkippedPrompts
from relserve_duckdb.udf.statement_run import Execution, StatementRun
from relserve_duckdb.user.python_client import PythonClient

from relserve.engines.scripted import ScriptedEngine, echo
from relserve.errors import Cancelled
from relserve.session.session import Session
from tests.waiting import wait_until

SITE = find_site("llm", "{}", "{}", 1, None)


def chunk(*texts: str | None) -> Chunk:
    return Chunk(SITE, [list(texts)], list(texts))


class Changes:
    """How often other cursors have written; None while one writes."""

    number: int | None = 0

    def __call__(self) -> int | None:
        return self.number


def run(engine: ScriptedEngine, written: Changes | None = None) -> StatementRun:
    session = Session(lambda model: engine)
    return StatementRun(session, PythonClient(False), Execution(), True, written or Changes())


def test_planning_refuses_before_and_instead_of_answering() -> None:
    with pytest.raises(PlanningOnly):
        Planning().check()
    with pytest.raises(PlanningOnly):
        Planning().answer(chunk("a"))


def test_collecting_asks_nothing_and_gives_what_is_known() -> None:
    engine = ScriptedEngine(script=echo)
    statement = run(engine)
    collecting = Collecting(statement)
    assert collecting.answer(chunk("a", None, "a")) == [None, None, None]
    statement.memo.known(SITE)["a"] = "A"
    assert collecting.answer(chunk("a", "b")) == ["A", None]
    assert collecting.tallies[SITE].counts == {"a": 3, None: 1, "b": 1}
    assert engine.num_prompts == 0


def test_running_asks_each_prompt_once() -> None:
    engine = ScriptedEngine(script=echo)
    running = Running(run(engine))
    assert running.answer(chunk("a", None, "a", "b")) == ["a", None, "a", "b"]
    assert running.answer(chunk("b", "c")) == ["b", "c"]
    assert engine.num_prompts == 3


def test_a_cancelled_statement_answers_nothing() -> None:
    statement = run(ScriptedEngine())
    statement.cancel.set()
    for handler in (Running(statement), Collecting(statement)):
        with pytest.raises(Cancelled):
            handler.check()


def test_what_the_user_does_next_has_a_cancel_event_and_a_number_of_its_own() -> None:
    engine = ScriptedEngine(script=echo)
    statement = run(engine)
    running = Running(statement)
    running.answer(chunk("a"))
    statement.cancel.set()
    statement.go_on_under(statement.execution.next())
    running.check()
    assert running.answer(chunk("a", "b")) == ["a", "b"]
    assert [each.statement for each in statement.session.history.queries()] == [1, 2]


def test_an_interrupt_also_stops_what_an_unread_result_still_asks() -> None:
    engine = ScriptedEngine(pause_s=60.0)
    statement = run(engine)
    with ThreadPoolExecutor() as threads:  # as one of DuckDB's own would ask for a result that streams
        asking = threads.submit(Running(statement).answer, chunk("a", "b"))
        wait_until(lambda: engine.submissions)
        statement.go_on_under(statement.execution.next())
        statement.cancel.set()
        assert isinstance(asking.exception(timeout=30.0), Cancelled)


@pytest.mark.parametrize(("later", "num_asked"), [(0, 1), (1, 3), (None, 3)])
def test_skipped_prompts_are_asked_once_another_cursor_writes(later: int | None, num_asked: int) -> None:
    engine, changes = ScriptedEngine(script=echo), Changes()
    statement = run(engine, changes)
    statement.skipped.take_snapshot()
    statement.skipped.replace({SITE: {"b", "c"}})
    changes.number = later
    answers = Running(statement).answer(chunk("a", "b", "c"))
    assert answers == (["a", None, None] if num_asked == 1 else ["a", "b", "c"])
    assert engine.num_prompts == num_asked


def test_once_confirmed_the_running_statement_reads_its_own_snapshot() -> None:
    changes = Changes()
    skipped = SkippedPrompts(changes)
    skipped.take_snapshot()
    assert not skipped.are_stale()
    changes.number = 7
    assert not skipped.are_stale()
    skipped.take_snapshot()
    changes.number = 8
    assert skipped.are_stale()


def test_a_known_answer_is_never_skipped() -> None:
    skipped = SkippedPrompts(Changes())
    skipped.replace({SITE: EveryPrompt()})
    assert list(skipped.rows_left(chunk("a", "b"), {None: None, "b": "B"})) == [1]


def test_a_statement_and_its_answers_are_freed_without_the_collector() -> None:
    session = Session(lambda model: ScriptedEngine())
    state = ConnectionState(session, PythonClient(False), connection_state.Changes(), keeps_answers=True)
    freed = weakref.ref(state.run)
    gc.disable()
    try:
        del state
        assert freed() is None
    finally:
        gc.enable()
