"""Typed questions: the two forms say the same, and a wrong one is told with its place and how to mend it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from relserve.call.questions import TypedQuestion, read_questions
from relserve.errors import OptionError

WANTED = (
    TypedQuestion("complaint", "noul", "Is it a complaint?", ("yes", "no"), ("something is wrong", None)),
    TypedQuestion("team", "choice", "Which team?", ("sales", "support"), ("prices", None)),
    TypedQuestion("anger", "score", "How angry?", ("calm", "cross", "furious"), (None, None, None)),
)
BY_ID = {
    "complaint": {
        "type": "noul", "instructions": "Is it a complaint?", "criteria": {"true": "something is wrong"},
    },
    "team": {
        "type": "choice", "instructions": "Which team?", "criteria": {"sales": "prices", "support": None},
    },
    "anger": {"type": "score", "instructions": "How angry?", "criteria": ["calm", "cross", "furious"]},
}  # fmt: skip
LISTED = [
    {
        "type": "predicate", "name": "complaint", "instructions": "Is it a complaint?",
        "choices": [{"value": True, "description": "something is wrong"}, {"value": False}], "levels": None,
    },
    {
        "type": "choice", "name": "team", "instructions": "Which team?",
        "choices": [{"value": "sales", "description": "prices"}, {"value": "support", "description": None}],
    },
    {"type": "score", "name": "anger", "instructions": "How angry?",
     "levels": [{"label": "calm"}, {"label": "cross"}, {"label": "furious"}]},
]  # fmt: skip


@pytest.mark.parametrize("given", [BY_ID, LISTED, json.dumps(BY_ID), json.dumps(LISTED)])
def test_both_forms_say_the_same_questions(given: Any) -> None:
    assert read_questions(given) == WANTED


def test_choices_that_are_no_texts_are_written_as_in_json() -> None:
    asked = {"type": "choice", "name": "q", "instructions": "?", "choices": [{"value": True}, {"value": 2}]}
    assert read_questions([asked])[0].choices == ("true", "2")


def of(**fields: Any) -> dict[str, Any]:
    """One question, `q`, with these fields besides its instructions."""
    return {"q": {"instructions": "Well?", **fields}}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("Is it a complaint?", r"questions is no JSON .*line 1 column 1.*; write it like {\"complaint\""),
        pytest.param('{"q": ' + "1" * 5_000 + "}", r"questions is no JSON \(Exceeds", id="5,000 digits"),
        (r'{"q": {"type": "noul", "instructions": "\ud800"}}', r"questions is no JSON \('utf-8' codec"),
        ("3", r"questions must be JSON like .*, not '3'"),
        ({}, "has no question; give one or more"),
        ({f"q{i}": {} for i in range(65)}, "has 65 questions; the most is 64, so ask in two calls"),
        ({" ": {}}, "the id of a question must be a text that is not empty"),
        ('{"q": {}, "q": {}}', "questions holds 'q' more than once"),
        ([{"name": "q"}, {"name": "q"}], "questions holds 'q' more than once"),
        ([{"type": "predicate"}], "question 1 has no name; give each one, like"),
        ({"q": "Is it a complaint?"}, "question 'q' must be an object like that of .*, not 'Is it a comp"),
        (of(type="bool"), r"question 'q': type must be 'noul' .*, 'choice' or 'score', not 'bool'"),
        (of(), "question 'q': type must be .*, not None"),
        ({"q": {"type": "noul"}}, "question 'q': instructions must be a text that is not empty, not None"),
        (of(type="noul", critera={}), "question 'q' has no field 'critera'. Did you mean criteria?"),
        (of(type="noul", criteria={"yes": "so"}), "describe true and false, not 'yes'.*give type 'choice'"),
        (of(type="choice"), r"question 'q' needs two choices or more, not \[\]: give them as criteria"),
        (of(type="choice", criteria=["a"]), r"needs two choices or more, not \['a'\].*give type 'noul'"),
        (of(type="choice", criteria=["a", "a"]), "question 'q': choices holds 'a' more than once"),
        (of(type="choice", criteria="a, b"), "criteria must be a list of texts, or an object .*'a, b'"),
        (of(type="choice", criteria={"a": 1, "b": None}), "description of 'a' must be a text or null, not 1"),
        (of(type="choice", criteria=["a", None]), "question 'q': a choice must be a text .*, not None"),
        (of(type="choice", criteria=["a"], choices=["a"]), "'q' has both criteria and choices"),
        (of(type="choice", criteria=[f"c{i}" for i in range(300)]), "takes at most 255 choices, not 300"),
        (of(type="choice", criteria=["x" * 50_000, "y"]), "question 'q': choices have 50,001 bytes in all"),
        (of(type="score", criteria=["calm"]), r"needs two levels or more, not \['calm'\]"),
        (of(type="score", criteria=[str(i) for i in range(11)]), "takes at most 10 levels, not 11"),
    ],
)
def test_a_wrong_question_is_told_with_its_place(given: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        read_questions(given)
