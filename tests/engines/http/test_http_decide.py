"""Several questions about a row at a decision server: one request a row, whatever their types."""

from __future__ import annotations

import json

import pytest
from decision_fakes import FIRST, decisions, serving, system_one
from http_fakes import Answered

from relserve.call.options import FUNCTIONS, parse_options
from relserve.call.relquery import RelQuery
from relserve.call.template import Template
from relserve.engines.http.engine import HttpEngine
from relserve.session.session import Session

QUESTIONS = {
    "angry": {"type": "noul", "instructions": "Is it angry?"},
    "team": {"type": "choice", "instructions": "Team?", "criteria": {"sales": None, "support": "of repairs"}},
    "haste": {"type": "score", "instructions": "How urgent?", "criteria": ["low", "mid", "high"]},
}


def decided(fake, rows, **replies):
    """The fields of each row, the bodies about them once the path was known, and the reasons for NULL."""
    server = fake(serving(**replies))
    engine = HttpEngine(server.url)
    session = Session(lambda model: engine)
    binding = Template.parse(FUNCTIONS["llm_decide"].template).bind(1)
    options = parse_options("llm_decide", {"questions": json.dumps(QUESTIONS)})
    for rel in (["first"], rows):
        count = len(server.requests)
        values = session.run(RelQuery("llm_decide", binding, [(row,) for row in rel], options)).values
    found = [value and json.loads(value) for value in values]
    bodies = [body for _, body in server.requests[count:]]
    return found, bodies, [error.failure.message for error in session.history.errors()]


@pytest.mark.parametrize("replies", [{"system_one": system_one}, {"decisions": decisions}])
def test_each_row_is_one_request(fake, replies):
    found, bodies, errors = decided(fake, ["it broke", "fine"], **replies)
    assert not errors
    assert len(bodies) == 2
    for row in found:
        assert row["angry"] == FIRST
        assert (row["team"]["choice"], row["team"]["probability"]) == ("sales", pytest.approx(FIRST))
        assert row["haste"]["score"] == pytest.approx(0.45)


def test_types_and_descriptions_come_through(fake):
    _, (body,), _ = decided(fake, ["it broke"], system_one=system_one)
    assert body["state"] == "it broke"
    assert list(body["questions"].values()) == [
        {"type": "noul", "instructions": "Is it angry?"},
        {
            "type": "choice", "instructions": "Team?\nsupport: of repairs",
            "criteria": {"sales": None, "support": None},
        },
        {
            "type": "choice", "instructions": "How urgent?",
            "criteria": {"low": None, "mid": None, "high": None},
        },
    ]  # fmt: skip


def test_a_question_without_an_answer_is_null_and_the_others_stand(fake):
    found, _, errors = decided(fake, ["it broke"], system_one=lambda body: system_one(body, q1=None))
    assert (found[0]["angry"], found[0]["team"]) == (FIRST, None)
    assert errors[-1] == "question 'team': the server left this question without an answer"


def test_a_row_whose_questions_are_all_refused_is_null(fake):
    def refuse_odd(body):
        is_odd = body["state"] == "odd"
        return Answered(413, {"detail": "state: too long"}) if is_odd else system_one(body)

    found, _, errors = decided(fake, ["odd", "fine"], system_one=refuse_odd)
    assert [row is None for row in found] == [True, False]
    assert errors == ["question 'angry': HTTP 413: state: too long"]
