"""Prompts about many pairs: what they say, and what an answer may be."""

from __future__ import annotations

import json
import re
from random import Random

import pytest

from relserve.call.options import parse_options
from relserve.call.pair_lists import PairListShape, listed, pair_list_site, read_pairs, side_text
from relserve.call.relquery import CallSite
from relserve.call.template import Template


def test_a_prompt_has_the_question_and_both_lists() -> None:
    binding = Template.parse("Is {x} {{of}} {y}?").bind(2)
    options = parse_options("llm_filter", {"join": "blocks", "system": "Be brief.", "model": "scripted"})
    site = pair_list_site(CallSite("llm_filter", binding, options), [0], [1])
    text, _ = listed(["red", "blue"], ["roses", "seas"])
    (prompt,) = site.prompts([(text,)])
    assert prompt is not None
    assert "\nIs [A] {of} [B]?\n" in prompt
    assert "A:\n1. red\n2. blue" in prompt
    assert "B:\n1. roses\n2. seas" in prompt
    assert (site.options.system, site.options.model) == ("Be brief.", "scripted")


def test_several_values_of_a_side_have_numbers() -> None:
    site = CallSite("llm_filter", Template.parse("{} {} {}").bind(3))
    (prompt,) = pair_list_site(site, [0, 2], [1]).prompts([("..",)])
    assert prompt is not None
    assert "[A, value 1] [B] [A, value 2]" in prompt
    assert side_text(["a", 1]) == '["a", "1"]'


@pytest.mark.parametrize("sizes", [(1, 9), (12, 1), (3, 4), (1, 1), (100, 63)])
def test_a_sample_matches_the_grammar_and_is_read(sizes: tuple[int, int]) -> None:
    _, grammar = listed(["x"] * sizes[0], ["y"] * sizes[1])
    shape = PairListShape(*sizes)
    assert grammar.shape == shape
    random = Random(0)
    for _ in range(20):
        text = json.dumps(shape.sample(random))
        assert re.fullmatch(shape.regex(), text)
        assert read_pairs(text, grammar)


@pytest.mark.parametrize(
    ("sizes", "item"), [((1, 4), "2"), ((1, 1), "1"), ((2, 3), "[2, 3]"), ((16, 16), "[9, 9]")]
)
def test_a_list_ends_after_as_many_items_as_there_are_pairs(sizes: tuple[int, int], item: str) -> None:
    regex, num = PairListShape(*sizes).regex(), sizes[0] * sizes[1]
    assert PairListShape(*sizes).json_schema()["properties"]["matches"]["maxItems"] == num
    text = '{{"matches": [{}]}}'
    assert re.fullmatch(regex, text.format(", ".join([item] * num)))
    assert not re.fullmatch(regex, text.format(", ".join([item] * (num + 1))))


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ('{"matches": [[1, 2], [2, 1]]}', [(0, 1), (1, 0)]),
        ('{"matches": []}', []),
        ('```json\n{"matches": [[1, 1]]}\n```', [(0, 0)]),
        ('{"matches": [[3, 1]]}', None),
        ('{"matches": [[0, 1]]}', None),
        ('{"matches": [1]}', None),
        ('{"matches": [[true, 1]]}', None),
        ("[[1, 2]]", None),
        ("none", None),
        ("[" * 100_000, None),
    ],
)
def test_an_answer_is_pairs_of_these_lists_or_none(text: str, pairs: list[tuple[int, int]] | None) -> None:
    assert read_pairs(text, listed(["a", "b"], ["c", "d"])[1]) == pairs


def test_a_text_of_several_lines_is_on_one() -> None:
    assert side_text(["one\n2. two"]) == '"one\\n2. two"'
