"""The deadline of a call: its own, its connection's, or its workflow's."""

from __future__ import annotations

import time

import pytest

from relserve.call.answer_types import Answer
from relserve.call.options import Options
from relserve.call.rel_tag import WorkflowStep
from relserve.call.relquery import CallSite, RelQuery
from relserve.call.template import Template
from relserve.engines.scripted import ScriptedEngine, echo
from relserve.errors import FailureKind
from relserve.session.session import Session
from tests.clocks import DAY_S, jump
from tests.waiting import with_time_enough

BINDING = Template.parse("{}").bind(1)


def relquery(*values: str, deadline: float | None = None) -> RelQuery:
    return RelQuery("llm", BINDING, [(v,) for v in values], Options(deadline=deadline))


@pytest.mark.parametrize(
    ("own", "default", "step_s", "expected"),
    [
        (None, None, None, None),
        (60.0, None, None, 60.0),
        (None, 30.0, None, 30.0),
        (60.0, 30.0, None, 60.0),  # what a call says goes before its connection's
        (60.0, None, 40.0, 40.0),
        (20.0, None, 40.0, 20.0),
        (None, 30.0, 40.0, 40.0),  # the workflow has heard of the connection's already
    ],
)
def test_the_scheduler_is_told_the_deadline_that_holds(
    own: float | None, default: float | None, step_s: float | None, expected: float | None
) -> None:
    engine = ScriptedEngine(echo)
    session = Session(lambda model: engine, deadline_s=default)
    now_s = time.time()
    step = None if step_s is None else WorkflowStep("w", "stage", time.monotonic() + step_s)
    session.run(relquery("a", deadline=own), step=step)
    tag = engine.submissions[0].tag()
    assert tag.workflow_id == (None if step is None else "w")
    if expected is None:
        assert tag.deadline_s is None
    else:
        assert tag.deadline_s is not None
        assert tag.deadline_s - now_s == pytest.approx(expected, abs=5)


@pytest.mark.long
def test_what_is_late_fails_alone_and_later_rounds_have_the_same_deadline() -> None:
    def ask(seconds: float) -> tuple[list[Answer], list[Answer]]:
        engine = ScriptedEngine(echo, chunk=1, stalls_after=8)
        site = CallSite("llm", BINDING, Options(deadline=seconds))
        with Session(lambda model: engine).open(site) as opened:
            first = opened.ask([(str(i),) for i in range(20)])
            engine.stalls_after = None  # the second is late all the same
            return first, opened.ask([("more",)])

    first, second = with_time_enough(ask, lambda told: sum(row.failure is None for row in told[0]) == 8)
    late = [answer.failure.kind for answer in first + second if answer.failure is not None]
    assert len(late) == 13
    assert set(late) == {FailureKind.DEADLINE}
    assert second[0].failure is not None


def test_a_deadline_is_no_part_of_what_shapes_answers() -> None:
    sites = [CallSite("llm", BINDING, Options(deadline=deadline)) for deadline in (None, 1.0, 2.0)]
    assert len({site.kind for site in sites}) == 1
    assert len({site.sampling for site in sites}) == 1


@pytest.mark.parametrize("offsets_s", [[0.0, DAY_S], [0.0, -DAY_S], [-DAY_S, DAY_S, 0.0]])
def test_a_wall_clock_that_is_set_changes_no_calls_deadline(
    offsets_s: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = Session(lambda model: ScriptedEngine(echo))
    with session.open(CallSite("llm", BINDING, Options(deadline=60.0))) as opened:
        jump(monkeypatch, offsets_s)
        answers = [opened.ask([(value,)])[0].value for value in "abcdef"]
    assert answers == list("abcdef")
    late = Session(lambda model: ScriptedEngine(echo, pause_s=600.0))
    (answer,) = late.run(relquery("a", deadline=0.2)).answers
    assert answer.failure is not None
    assert answer.failure.kind is FailureKind.DEADLINE
