"""The parts of benchmarks.decisions that start no engine: what each side is asked, and its figures."""

from __future__ import annotations

import json

import pytest

from benchmarks.decisions.exact import _all_of, _largest_error
from benchmarks.decisions.rows import FIVE, QUESTIONS, YES_OR_NO, DecisionQuestion
from benchmarks.decisions.systemone import body_of
from relserve.call.options import parse_options
from relserve.call.relquery import RelQuery
from relserve.call.template import Template


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_the_bare_loop_is_given_the_prompts_of_the_call(question: DecisionQuestion) -> None:
    options = {"choices": list(question.choices)} if question.choices else {}
    function = "llm_probs" if question.choices else "llm_prob"
    binding = Template.parse(question.text + " {}").bind(1)
    asked = RelQuery(function, binding, [("a",), ("b",)], parse_options(function, options))
    assert asked.prompts() == question.prompts(["a", "b"])


def test_calls_name_the_question_and_its_choices() -> None:
    assert YES_OR_NO.weighed() == "llm_prob('Is this review of a beer positive? {}', text)"
    assert FIVE.weighed("{} It's?", ", read := 'exact'") == (
        "llm_probs('{} It''s?', text, choices := ['great', 'good', 'average', 'bad', 'awful'], "
        "read := 'exact')"
    )
    assert YES_OR_NO.decoded().endswith("choices := ['yes', 'no'])")


def test_the_endpoint_is_asked_the_same() -> None:
    asked = [json.loads(body_of(question, "a beer"))["questions"]["q"] for question in QUESTIONS]
    assert [each["type"] for each in asked] == ["noul", "choice"]
    assert list(asked[1]["criteria"]) == list(FIVE.choices)


def test_the_error_is_that_of_the_worst_choice() -> None:
    assert _all_of(0.75) == [0.75, 0.25]
    assert _largest_error([[0.5, 0.5], [0.7, 0.3]], [[0.5, 0.5], [0.6, 0.4]]) == pytest.approx(0.1)
