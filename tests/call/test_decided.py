"""What probabilities make: expected levels, fields of questions, descriptions in prompts."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from relserve.call.decided import Decided
from relserve.call.decisions import ExpectedLevel
from relserve.call.options import FUNCTIONS, parse_options
from relserve.errors import OptionError

QUESTIONS: dict[str, Any] = {
    "angry": {"type": "noul", "instructions": "Angry?"},
    "team": {"type": "choice", "instructions": "Team?", "criteria": ["sales", "it"]},
    "how": {"type": "score", "instructions": "How?", "criteria": ["calm", "cross", "furious"]},
}


def kind_of(function: str, **options: Any) -> Any:
    return FUNCTIONS[function].answer_type(parse_options(function, options))


def test_an_expected_level_counts_from_0() -> None:
    kind = kind_of("llm_score", levels=["calm", "cross", "furious"])
    assert isinstance(kind, ExpectedLevel)
    assert kind.value_of((0.5, 0.25, 0.25)) == 0.75
    assert kind.instruction == "Answer with exactly one of: calm, cross, furious."


def test_each_question_is_a_field_and_one_that_failed_is_null() -> None:
    kind = kind_of("llm_decide", questions=QUESTIONS)
    assert isinstance(kind, Decided)
    fields = json.loads(kind.value_of((0.9, 0.1, 0.2, 0.8, 0.5, 0.25, 0.25)))
    assert fields["angry"] == 0.9
    assert fields["team"] == {"choice": "it", "probability": 0.8, "probabilities": {"sales": 0.2, "it": 0.8}}
    assert (fields["how"]["score"], fields["how"]["probability"]) == (0.75, 0.5)
    assert json.loads(kind.value_of((0.9, 0.1, math.nan, math.nan, 0.5, 0.25, 0.25)))["team"] is None


@pytest.mark.parametrize("function", ["llm_probs", "llm_tags", "llm_classify"])
def test_descriptions_are_told_before_the_text(function: str) -> None:
    kind = kind_of(function, choices={"sales": "about prices", "support": None, "nobody": " "})
    choices = "yes, no" if function == "llm_tags" else "sales, support, nobody"
    assert kind.instruction == f"Answer with exactly one of: {choices}.\nsales: about prices"


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        ("llm_score", {"levels": ["calm"]}, "levels must be 2 to 10 texts from low to high, not 1"),
        ("llm_score", {"levels": [str(i) for i in range(11)]}, "levels must be 2 to 10 texts.*, not 11"),
        ("llm_score", {"levels": "calm"}, "levels must be a list of texts, e.g."),
        (
            "llm_score",
            {"levels": ["a", "b"], "lo": 1},
            "levels are weighed, not written, so lo has no meaning",
        ),
        (
            "llm_score",
            {"levels": ["a", "b"], "temperature": 1},
            "so temperature has no meaning; leave it out",
        ),
        ("llm_score", {"read": "exact"}, "read needs levels := "),
        ("llm_probs", {"choices": {"a": 1, "b": None}}, "choices: the description of 'a' must be a text"),
        ("llm_probs", {"choices": {}}, "choices must be a list of texts that is not empty"),
        ("llm_decide", {}, r"llm_decide\(\) needs questions := '{\"complaint\""),
        ("llm_decide", {"questions": {"a": QUESTIONS["angry"], "A": QUESTIONS["angry"]}}, "one name in SQL"),
    ],
)
def test_wrong_options_are_told(function: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        parse_options(function, options)
