"""Examples in SQL: lists and structs of every function, and mistakes told before anything is asked."""

from __future__ import annotations

import pytest
from sql_fixtures import Made

from relserve.errors import OptionError

CALLS = [
    ("llm('Mood of {}?', body, examples := [['fine', 'good']])", "Mood of fine?", "good"),
    ("llm('Mood of {body}?', p, examples := [{'body': 'fine', 'answer': 'good'}])", "Mood of fine?", "good"),
    ("llm_filter('{}?', body, examples := [{'text': 'fine', 'answer': true}])", "fine?", "yes"),
    ("llm_classify('{}?', body, choices := ['a', 'b'], examples := [['fine', 'b']])", "fine?", "b"),
    ("llm_score('{}?', body, examples := [{'text': 'fine', 'answer': 7.0}])", "fine?", "7"),
    ("llm_int('{}?', body, examples := [{'text': 'fine', 'answer': 7}])", "fine?", "7"),
    (
        """llm_extract('{}?', body, schema := '{"a": "INTEGER"}',
            examples := [{'text': 'fine', 'answer': {'a': 7}}])""",
        "fine?",
        '{"a": 7}',
    ),
]


@pytest.mark.cells(3)
@pytest.mark.parametrize(("call", "user", "assistant"), CALLS)
def test_examples_stand_before_each_row(made: Made, call: str, user: str, assistant: str) -> None:
    made.rows(f"SELECT {call} FROM p WHERE id < 3")
    (asked,) = made.engine.submissions
    ((said, answered),) = asked.turns
    assert said.splitlines()[-1] == user
    assert answered == assistant
    assert len(asked.prompts) == 3


def test_a_wrong_example_is_told_before_anything_is_asked(made: Made) -> None:
    with pytest.raises(OptionError, match="the answer 'c' is not one of"):
        made.rows("SELECT llm_classify('{}', body, choices := ['a', 'b'], examples := [['x', 'c']]) FROM p")
    assert made.engine.num_prompts == 0
