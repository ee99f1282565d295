"""`Session.run(.., enough=)`: what is still on its way when enough answers have come is aborted."""

from __future__ import annotations

from relserve.call.answer_types import Answer
from relserve.call.relquery import RelQuery
from relserve.call.template import Template
from relserve.engines.scripted import ScriptedEngine, echo
from relserve.session.round import UNASKED
from relserve.session.session import Session
from tests.waiting import wait_until


def relquery(num_rows: int) -> RelQuery:
    return RelQuery("llm", Template.parse("say {}").bind(1), [(str(i),) for i in range(num_rows)])


def test_the_rest_is_aborted_and_what_came_is_kept() -> None:
    engine = ScriptedEngine(echo, chunk=10, stalls_after=30)
    session = Session(lambda model: engine)

    def enough(answers: list[Answer | None]) -> bool:
        return sum(each is not None for each in answers) >= 25

    answers = session.run(relquery(1000), enough=enough).answers
    came = [answer.value for answer in answers if answer is not UNASKED]
    assert len(came) == 30
    assert sorted(came) == sorted(f"say {i}" for i in range(1000))[: len(came)]
    wait_until(lambda: engine.aborted == 970)
    record = session.history.queries_table().to_pylist()[0]
    assert record["state"] == "done"


def test_never_enough_answers_all() -> None:
    engine = ScriptedEngine(echo, chunk=10)
    result = Session(lambda model: engine).run(relquery(55), enough=lambda answers: False)
    assert result.values == [f"say {i}" for i in range(55)]
    assert engine.aborted == 0
