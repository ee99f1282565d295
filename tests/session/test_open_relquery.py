"""A relQuery asked in rounds: one id, one record, no prompt twice, rows announced to the engine."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from pathlib import Path

import pytest

from relserve.cache.cache import AnswerCache
from relserve.cache.store import FILE_NAME
from relserve.call.options import Options
from relserve.call.relquery import CallSite
from relserve.call.template import Template
from relserve.engines.scripted import ScriptedEngine, echo
from relserve.errors import Cancelled, EngineDeadError, Failure, FailureKind, RowError
from relserve.session.round import UNASKED
from relserve.session.session import Session
from tests.waiting import PATIENCE_S


def site(function: str = "llm", **options: object) -> CallSite:
    return CallSite(function, Template.parse("say {}").bind(1), Options(**options))  # type: ignore[arg-type]


def rows(*values: str | None) -> list[tuple[str | None]]:
    return [(value,) for value in values]


def refuses_b(prompt: str, submission: object) -> str | Failure:
    return Failure(FailureKind.REFUSED, "no") if "b" in prompt else prompt


def test_rounds_are_one_relquery_and_one_record() -> None:
    engine = ScriptedEngine(echo)
    session = Session(lambda model: engine)
    with session.open(site(), statement=7) as opened:
        first = opened.ask(rows("a", None, "b", "a"), [1, 2, 3, 4])
        assert [answer.value for answer in first] == ["say a", None, "say b", "say a"]
        assert session.history.queries() == [opened.record]
        assert opened.record.state == "done"
        assert [answer.value for answer in opened.ask(rows("c", "b"), [5, 6])] == ["say c", "say b"]
    assert [list(submission.prompts) for submission in engine.submissions] == [["say a", "say b"], ["say c"]]
    assert len({submission.rel_id for submission in engine.submissions}) == 1
    (record,) = session.history.queries()
    assert (record.num_rows, record.num_distinct, record.num_null) == (21, 3, 2)
    assert (record.num_done, record.num_rows_done, record.state, record.statement) == (3, 19, "done", 7)
    assert record.usage.prompt_tokens == 3 * (len("say a") // 4 + 1)


def test_the_engine_is_told_how_many_rows_are_to_come() -> None:
    engine = ScriptedEngine(echo)
    with Session(lambda model: engine).open(site()) as opened:
        opened.ask(rows("a", "b"), announced=10)
        opened.ask(rows("b", "c"), announced=10)
        opened.ask(rows("d"))
        opened.ask(rows("e"), announced=2)
    tags = [submission.tag() for submission in engine.submissions]
    assert [tag.rows for tag in tags] == [10, 10, 4, 5]
    assert {tag.rel_id for tag in tags} == {opened.record.rel_id}


def test_what_does_not_reach_the_engine_is_not_announced(tmp_path: Path) -> None:
    engine = ScriptedEngine(echo, identity="the model", max_prompt_chars=20)
    cache = AnswerCache(tmp_path / FILE_NAME, 2**26, pytest.fail)
    session = Session(lambda model: engine, cache=cache)
    with session.open(site()) as before:
        before.ask(rows("a"))
    with session.open(site()) as opened:
        opened.ask(rows("a", "b", "x" * 50), announced=4)
        opened.ask(rows("c"))
    assert [submission.tag().rows for submission in engine.submissions] == [1, 3, 2]
    assert opened.record.num_cached == 1
    cache.close()


def test_a_failed_prompt_stays_failed_and_counts_for_its_further_rows() -> None:
    engine = ScriptedEngine(refuses_b)
    session = Session(lambda model: engine)
    with session.open(site()) as opened:
        opened.ask(rows("b"), [3])
        (answer,) = opened.ask(rows("b"), [4])
    assert answer.failure == (FailureKind.REFUSED, "no")
    assert engine.num_prompts == 1
    assert opened.record.num_failed == 7
    assert [error.num_rows for error in session.history.errors()] == [3, 4]


def test_one_that_does_not_remember_asks_a_prompt_again() -> None:
    engine = ScriptedEngine(echo)
    with Session(lambda model: engine).open(site(), remembers=False) as opened:
        assert [opened.ask(rows("a"))[0].value for _ in range(2)] == ["say a"] * 2
    assert (engine.num_prompts, opened.record.num_distinct, opened.record.num_rows_done) == (2, 2, 2)


def test_the_record_runs_while_a_round_does() -> None:
    seen = []
    with Session(lambda model: ScriptedEngine(echo)).open(site()) as opened:
        assert opened.record.state == "running"
        for value in "ab":
            opened.ask(rows(value), progress=lambda record: seen.append(record.state))
            seen.append(opened.record.state)
    opened.close(ValueError("too late"))
    assert seen == ["running", "done"] * 2
    assert (opened.record.state, opened.record.error) == ("done", None)


def test_what_was_not_waited_for_may_be_asked_again() -> None:
    engine = ScriptedEngine(echo, chunk=1, stalls_after=1)
    with Session(lambda model: engine).open(site()) as opened:
        values = [str(i) for i in range(100)]
        answers = opened.ask(rows(*values), enough=any)
        left = [value for value, answer in zip(values, answers, strict=True) if answer is UNASKED]
        assert left == values[1:]
        engine.stalls_after = None
        assert [answer.value for answer in opened.ask(rows(left[0]))] == [f"say {left[0]}"]


def test_seconds_are_those_of_the_rounds() -> None:
    engine = ScriptedEngine(echo, pause_s=0.05)
    with Session(lambda model: engine).open(site()) as opened:
        rounds_s = 0.0
        for value in "ab":
            began_s = time.monotonic()
            opened.ask(rows(value))
            rounds_s += time.monotonic() - began_s
            time.sleep(0.2)  # of no round
    assert opened.record.seconds is not None
    assert 0.1 <= opened.record.seconds <= rounds_s


def test_an_error_of_a_round_is_on_record() -> None:
    session = Session(lambda model: ScriptedEngine(refuses_b))
    opened = session.open(site(on_error="raise"))
    with pytest.raises(RowError):
        opened.ask(rows("b"))
    assert opened.record.state == "failed"
    assert "no" in (opened.record.error or "")


def test_a_dead_engine_ends_the_record_as_failed() -> None:
    engine = ScriptedEngine(dies_after=1)
    with pytest.raises(EngineDeadError), Session(lambda model: engine).open(site()) as opened:
        opened.ask(rows("a", "b"))
    assert opened.record.state == "failed"


def test_cancel_ends_it_between_rounds_too() -> None:
    cancel = threading.Event()
    session = Session(lambda model: ScriptedEngine(echo))
    opened = session.open(site(), cancel)
    opened.ask(rows("a"))
    cancel.set()
    with pytest.raises(Cancelled):
        opened.ask(rows("b"))
    assert opened.record.state == "cancelled"


def test_what_ends_it_between_rounds_is_on_record() -> None:
    session = Session(lambda model: ScriptedEngine(echo))
    opened = session.open(site())
    opened.ask(rows("a"))
    opened.close(Cancelled("between"))
    assert (opened.record.state, opened.record.error) == ("cancelled", "between")


def test_threads_may_ask_at_once() -> None:
    engine = ScriptedEngine(echo, chunk=3, pause_s=0.001)
    with Session(lambda model: engine).open(site()) as opened:
        found: dict[int, list[object]] = {}

        def ask(k: int) -> None:
            found[k] = [answer.value for answer in opened.ask(rows(*(f"{k}-{i}" for i in range(20))))]

        threads = [threading.Thread(target=ask, args=(k,)) for k in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
    assert found == {k: [f"say {k}-{i}" for i in range(20)] for k in range(6)}
    assert (opened.record.num_done, opened.record.num_rows_done) == (120, 120)


@pytest.mark.long
def test_an_error_on_record_keeps_nothing_of_its_caller_alive() -> None:
    class Local:
        pass

    def fail() -> weakref.ref[Local]:
        local = Local()
        with pytest.raises(RowError):
            opened.ask(rows("b"))
        return weakref.ref(local)

    opened = Session(lambda model: ScriptedEngine(refuses_b)).open(site(on_error="raise"))
    local = fail()
    gc.collect()
    assert local() is None
    assert opened.record.state == "failed"


def test_a_round_asks_the_engine_that_has_the_name_then() -> None:
    engines = [ScriptedEngine(echo), ScriptedEngine(echo)]
    with Session(lambda model: engines[0]).open(site()) as opened:
        opened.ask(rows("a"))
        closed = engines.pop(0)
        opened.ask(rows("b"))
    assert [closed.num_prompts, engines[0].num_prompts] == [1, 1]
