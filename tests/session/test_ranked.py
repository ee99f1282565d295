"""llm_rank's rounds: the pairs of all groups together, what a failed pair leaves, what is on record."""

from __future__ import annotations

import json
from typing import Any

from relserve.call.options import Options
from relserve.call.relquery import RelQuery, Submission
from relserve.call.template import Template
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import Failure, FailureKind
from relserve.session.ranked import rank_groups
from relserve.session.session import Session

BINDING = Template.parse("Which is larger? {}").bind(1)


def larger(prompt: str, submission: Submission) -> str | Failure:
    """Which of two numbers is larger; nobody can tell of 13."""
    first, second = (float(line.partition(". ")[2]) for line in prompt.splitlines()[-2:])
    if 13 in (first, second):
        return Failure(FailureKind.REFUSED, "thirteen")
    return "1" if first > second else "2"


def ranked(session: Session, *groups: Any, **options: Any) -> list[Any]:
    relquery = RelQuery("llm_rank", BINDING, [(group,) for group in groups], Options(**options))
    with session.open(relquery.site) as opened:
        return rank_groups(relquery, opened).answers


def test_each_group_has_its_order_and_all_of_them_are_one_relquery() -> None:
    session = Session(lambda model: ScriptedEngine(script=larger))
    texts = [str(number) for number in range(40, 80)]
    found = ranked(session, ["3", "20", "3", "100"], None, ["7"], texts, k=3)
    assert [None if answer.value is None else json.loads(answer.value) for answer in found] == [
        ["100", "20", "3"], None, ["7"], ["79", "78", "77"],
    ]  # fmt: skip
    (query,) = session.history.queries()
    assert (query.function, query.num_null, query.num_failed) == ("llm_rank", 1, 0)


def test_a_failed_pair_fails_its_group_alone() -> None:
    session = Session(lambda model: ScriptedEngine(script=larger))
    failed, right = ranked(session, ["13", "2"], ["1", "2"])
    assert (failed.value, failed.failure.message) == (None, "thirteen")
    assert json.loads(right.value) == ["2", "1"]


def test_no_values_ask_nothing() -> None:
    session = Session(lambda model: ScriptedEngine(script=larger))
    assert [answer.value for answer in ranked(session, None, ["one"])] == [None, '["one"]']
    assert session.history.queries()[0].num_distinct == 0
