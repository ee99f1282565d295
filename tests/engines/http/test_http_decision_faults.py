"""Decision servers that refuse, or answer with what is no probability: right, or NULL and the reason."""

from __future__ import annotations

import pytest
from decision_fakes import FIRST, decisions, serving, system_one
from http_fakes import Answered

from relserve.call.options import parse_options
from relserve.call.relquery import RelQuery
from relserve.call.template import Template
from relserve.engines.http import rows as http_rows
from relserve.engines.http.engine import HttpEngine
from relserve.session.session import Session

WIRES = {"system_one": system_one, "decisions": decisions}
NAN = float("nan")


@pytest.fixture(autouse=True)
def _short_delays(monkeypatch):
    monkeypatch.setattr(http_rows, "FIRST_DELAY_S", 0.01)
    monkeypatch.setattr("relserve.engines.http.concurrency_limit.FIRST_PAUSE_S", 0.02)
    monkeypatch.setattr("relserve.engines.http.concurrency_limit.LONGEST_PAUSE_S", 0.1)


def run(fake, wire, odd, function="llm_prob", **options):
    """The values of three rows, and the failures on record; `odd(body)` answers the second row."""

    def reply(body):
        is_odd = "odd" in (body.get("state"), body.get("input"))
        return odd(body) if is_odd else WIRES[wire](body)

    engine = HttpEngine(fake(serving(**{wire: reply})).url, max_retries=2)
    session = Session(lambda model: engine)
    rows, binding = [("a",), ("odd",), ("c",)], Template.parse("Is it? {}").bind(1)
    values = session.run(RelQuery(function, binding, rows, parse_options(function, options))).values
    return values, [(error.failure.kind, error.failure.message) for error in session.history.errors()]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "label 'yes' is not one distinct token after this model's chat prompt", "refused"),
        (400, "unknown question type 'noul'; supported: ['choice']", "refused"),
        (400, "max_tokens_exceeded: too many tokens in state", "over_context"),
        (413, "payload too large", "over_context"),
        (422, "questions: field required", "refused"),
        (404, "gone", "refused"),
        (501, "not implemented for this model", "refused"),
    ],
)
def test_a_refusal_of_a_row_is_null_with_the_servers_words(fake, wire, status, message, kind):
    values, errors = run(fake, wire, lambda body: Answered(status, {"error": {"message": message}}))
    assert values == [pytest.approx(FIRST), None, pytest.approx(FIRST)]
    assert errors == [(kind, f"HTTP {status}: {message}")]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "passing",
    [
        Answered(429, {"error": {"message": "slow down"}}, {"Retry-After": "0"}),
        Answered(503, {"error": {"message": "busy"}}),
        Answered(500, {"error": {"message": "oops"}}),
        Answered(200, b"{no json"),
        Answered(200, {"answers": "none"}),
        Answered(200, {"error": {"message": "slow down", "code": 429}}),
    ],
    ids=["429", "503", "500", "no json", "no answers", "429 in 200"],
)
def test_what_passes_costs_no_row(fake, wire, passing):
    left = [passing]
    values, errors = run(fake, wire, lambda body: left.pop() if left else WIRES[wire](body))
    assert values == pytest.approx([FIRST] * 3)
    assert not errors


def test_what_does_not_pass_is_null(fake):
    values, errors = run(fake, "system_one", lambda body: Answered(200, {"answers": None}))
    assert values == [pytest.approx(FIRST), None, pytest.approx(FIRST)]
    ((kind, message),) = errors
    assert kind == "engine"
    assert message.startswith("the server's reply is not a decision")


@pytest.mark.parametrize("p", [NAN, float("inf"), -0.1, 1.5, "0.7", True, None, [0.7], {"p": 0.7}], ids=str)
@pytest.mark.parametrize(("wire", "field"), [("system_one", "noul"), ("decisions", "probability")])
def test_what_is_no_probability_is_null(fake, wire, field, p):
    answer = {"type": "any", "name": "q0", field: p}
    values, errors = run(fake, wire, lambda body: WIRES[wire](body, q0=answer))
    assert values == [pytest.approx(FIRST), None, pytest.approx(FIRST)]
    assert errors[0][0] == "unparsable"
    assert "has no probabilities of the choices that add up to 1" in errors[0][1]


@pytest.mark.parametrize(
    "shares",
    [{"x": 0.6, "y": 0.6}, {"x": 0.4, "y": 0.4, "other": 0.2}, {"x": 1.0}, {"X": 0.5, "Y": 0.5}, {}, None],
    ids=str,
)
@pytest.mark.parametrize("wire", WIRES)
def test_choices_whose_probabilities_are_not_all_there_are_null(fake, wire, shares):
    told = shares
    if wire == "decisions" and shares is not None:
        told = [{"value": value, "probability": p} for value, p in shares.items()]
    answer = {"type": "choice", "name": "q0", "choice": "x", "probabilities": told}
    values, errors = run(
        fake, wire, lambda body: WIRES[wire](body, q0=answer), "llm_probs", choices=["x", "y"]
    )
    assert (values[0] is None, values[1], len(errors)) == (False, None, 1)


@pytest.mark.parametrize("wire", WIRES)
def test_rounded_probabilities_are_taken_in_proportion(fake, wire):
    shares = {"x": 0.335, "y": 0.33, "z": 0.33}
    told = shares if wire == "system_one" else [{"value": c, "probability": p} for c, p in shares.items()]
    answer = {"type": "choice", "name": "q0", "choice": "x", "probabilities": told}
    values, errors = run(
        fake, wire, lambda body: WIRES[wire](body, q0=answer), "llm_probs", choices=["x", "y", "z"]
    )
    assert not errors
    assert values[1].startswith('{"x": 0.3366')


@pytest.mark.parametrize("wire", WIRES)
def test_a_refusal_in_the_answer_is_null_with_its_words(fake, wire):
    refusal = {"type": "refusal", "name": "q0", "refusal": "not about people"}
    values, errors = run(fake, wire, lambda body: WIRES[wire](body, q0=refusal))
    assert values == [pytest.approx(FIRST), None, pytest.approx(FIRST)]
    assert errors == [("refused", "the server refused this question: 'not about people'")]


def test_two_answers_to_one_question_are_none(fake):
    def twice(body):
        reply = decisions(body)
        reply.body["answers"].append({"type": "predicate", "name": "q0", "probability": 0.1})
        return reply

    values, errors = run(fake, "decisions", twice)
    assert values[1] is None
    assert errors == [("refused", "the server left this question without an answer")]
