"""Whether a client was told by relserve what PostgreSQL told it."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import NamedTuple

from tests.clients.bi.answers.differences import differences_of
from tests.clients.bi.sides.runs import Answer


class Verdict(StrEnum):
    """What came of a check."""

    PASSED = "passed"
    DECLARED = "passed, with a declared difference"
    FAILED = "failed"
    WRONG = "wrong"
    HUNG = "hung"
    BROKEN = "shows nothing: it failed on PostgreSQL"


GOOD = (Verdict.PASSED, Verdict.DECLARED)


class Outcome(NamedTuple):
    """A check's verdict and what was told."""

    client: str
    check: str
    verdict: Verdict
    difference: str | None
    ours: str
    theirs: str


def compare(client: str, check: str, ours: Answer | None, theirs: Answer) -> Outcome:
    """The verdict on one check."""
    verdict, difference = _verdict(client, check, ours or Answer(error="never ran"), theirs)
    return Outcome(client, check, verdict, difference, told(ours), told(theirs))


def _verdict(client: str, check: str, ours: Answer, theirs: Answer) -> tuple[Verdict, str | None]:
    if theirs.hung or (theirs.error is not None and theirs.sqlstate is None):
        return Verdict.BROKEN, None
    if ours.hung:
        return Verdict.HUNG, None
    if _same(told(ours), told(theirs)):
        return Verdict.PASSED, None
    for difference in differences_of(client, check):
        if difference.explains(told(ours), told(theirs)):
            return Verdict.DECLARED, difference.name
    return (Verdict.FAILED if _refused(ours, theirs) else Verdict.WRONG), None


def _refused(ours: Answer, theirs: Answer) -> bool:
    """Whether the difference is an error, which the user sees; psql shows errors beside its rows."""
    if ours.error is not None or theirs.error is not None:
        return True
    return isinstance(ours.value, dict) and ours.value.get("err") != theirs.value.get("err")


def told(answer: Answer | None) -> str:
    """The answer as text: the value, or the error."""
    if answer is None:
        return "nothing"
    if answer.hung:
        return "hung"
    if answer.error is not None:
        return f"error {answer.sqlstate}: {answer.error}"
    return json.dumps(answer.value, ensure_ascii=False, sort_keys=True)


def _same(ours: str, theirs: str) -> bool:
    """Equal values, or errors with one SQLSTATE, whatever their words are."""
    if ours.startswith("error ") and theirs.startswith("error "):
        return ours.split(":")[0] == theirs.split(":")[0]
    return ours == theirs
