"""A relQuery that is a step of a workflow: its place reaches the engine, its deadline fails what is late."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from relserve.cache.cache import AnswerCache
from relserve.cache.store import FILE_NAME
from relserve.call.answer_types import Answer
from relserve.call.options import Options
from relserve.call.rel_tag import WorkflowStep
from relserve.call.relquery import RelQuery
from relserve.call.template import Template
from relserve.engines.scripted import ScriptedEngine, echo
from relserve.errors import FailureKind, RowError
from relserve.session.session import Session
from tests.waiting import with_time_enough


def relquery(*values: str, **options: object) -> RelQuery:
    return RelQuery("llm", Template.parse("{}").bind(1), [(v,) for v in values], Options(**options))  # type: ignore[arg-type]


def session_of(engine: ScriptedEngine) -> Session:
    return Session(lambda model: engine)


def test_the_engine_is_told_the_workflow_the_stage_and_the_deadline() -> None:
    engine, step = ScriptedEngine(echo), WorkflowStep("w1", "candidates", time.monotonic() + 60)
    session = session_of(engine)
    session.run(relquery("a"), step=step)
    with session.open(relquery("a").site, step=step) as opened:
        opened.ask([("b",)])
        opened.ask([("c",)])
    session.run(relquery("d"))
    tags = [submission.tag() for submission in engine.submissions]
    places = [("w1", "candidates", pytest.approx(time.time() + 60, abs=20))] * 3 + [(None, None, None)]
    assert [(tag.workflow_id, tag.stage, tag.deadline_s) for tag in tags] == places


def test_rows_without_an_answer_at_the_deadline_fail_and_the_others_stand() -> None:
    values = [str(i) for i in range(10, 30)]

    def ask(seconds: float) -> tuple[ScriptedEngine, Session, list[Answer]]:
        engine = ScriptedEngine(echo, chunk=5, stalls_after=5)
        session, step = session_of(engine), WorkflowStep("w", "s", time.monotonic() + seconds)
        return engine, session, session.run(relquery(*values), step=step).answers

    engine, session, answers = with_time_enough(ask, lambda told: told[0].num_answered)
    late = [answer for answer in answers if answer.failure is not None]
    assert len(late) == 15
    assert {answer.failure.kind for answer in late if answer.failure} == {FailureKind.DEADLINE}
    assert [answer.value for answer in answers] == values[: 20 - len(late)] + [None] * len(late)
    assert engine.aborted == len(late)
    (record,) = session.history.queries()
    assert (record.state, record.num_failed, record.num_done) == ("done", len(late), 20)


def test_a_deadline_that_has_passed_asks_nothing_and_leaves_kept_answers(tmp_path: Path) -> None:
    engine = ScriptedEngine(echo, identity="the model")
    cache = AnswerCache(tmp_path / FILE_NAME, 2**26, pytest.fail)
    session = Session(lambda model: engine, cache=cache)
    session.run(relquery("a"))
    answers = session.run(relquery("a", "b"), step=WorkflowStep("w", "s", time.monotonic() - 1)).answers
    assert answers[0].value == "a"
    assert answers[1].failure is not None
    assert answers[1].failure.kind is FailureKind.DEADLINE
    assert engine.num_prompts == 1
    cache.close()


def test_a_deadline_raises_where_failed_rows_do() -> None:
    with pytest.raises(RowError, match="deadline"):
        session_of(ScriptedEngine(echo)).run(
            relquery("a", on_error="raise"), step=WorkflowStep("w", "s", time.monotonic() - 1)
        )
