"""What is known of answers' lengths before any is there: by their type, and which calls' are alike."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest

from relserve.call.answer_types import Grammar, Number
from relserve.call.options import FUNCTIONS, Options, parse_options
from relserve.call.questions import EXAMPLE
from relserve.call.rel_tag import MAX_KIND, RelTag, read_tag
from relserve.call.relquery import CallSite, Sampling, Submission, sampling_of
from relserve.call.schema import schema_text_of, shape_of
from relserve.call.template import Template


def letters(texts: Sequence[str]) -> list[int]:
    return [len(text) for text in texts]


@pytest.mark.parametrize(
    ("function", "options", "tokens"),
    [
        ("llm", {}, None),
        ("llm", {"choices": ["a", "good"]}, 4),
        ("llm_filter", {}, 3),
        ("llm_score", {}, 2),
        ("llm_score", {"lo": -5, "hi": 123_456}, 6),
        ("llm_score", {"lo": -5, "hi": 1.5}, 5),  # listed, the longest being -4.99
        ("llm_score", {"lo": -1000, "hi": 1000.5}, 8),
        ("llm_int", {}, 19),
        ("llm_bool", {}, 5),
        ("llm_date", {}, 12),
        ("llm_double", {}, 29),
        ("llm_extract", {"schema": {"n": "TINYINT", "d": "DATE"}}, len('{"n": -127, "d": "2024-01-01"}')),
        ("llm_extract", {"schema": {"n": "TINYINT", "t": "VARCHAR"}}, None),
        ("llm_extract", {"schema": {"l": ["TINYINT"]}}, None),
        ("llm_agg", {}, None),
    ],
)
def test_numbers_dates_and_choices_tell_their_length(
    function: str, options: dict[str, Any], tokens: int | None
) -> None:
    sampling = sampling_of(function, parse_options(function, options))
    # a space before it and an end
    assert sampling.likely_by(letters) == (None if tokens is None else min(tokens + 2, sampling.answer_cap))


def test_what_thinks_first_tells_nothing() -> None:
    assert sampling_of("llm_filter", Options(thinking=50)).likely is None


def test_no_answer_has_more_tokens_than_its_cap() -> None:
    assert sampling_of("llm_int", Options(max_tokens=3)).likely == 3


@pytest.mark.parametrize(
    "schema",
    [
        "BOOLEAN", "TINYINT", "UTINYINT", "INTEGER", "BIGINT", "HUGEINT", "DECIMAL(4,4)", "DECIMAL(9,0)",
        "DECIMAL(38,10)", "DOUBLE", "FLOAT", "DATE", "TIME", "TIMESTAMP", "ENUM('a', 'it''s \"ü\"')",
        "INTEGER[3]", {"a": "DATE", "ü \"b\"": {"c": "BIGINT", "d": "ENUM('x')[2]"}},
    ],
)  # fmt: skip
def test_the_longest_value_of_a_type_is_allowed_and_bounded(schema: Any) -> None:
    shape = shape_of(schema_text_of(schema))
    assert shape.longest is not None
    assert re.fullmatch(shape.regex(), shape.longest)
    assert len(shape.longest) <= shape.max_chars
    json.loads(shape.longest)


@pytest.mark.parametrize(("lo", "hi"), [(-5, 123_456), (0, 99_999), (-1000, 1000.5), (-0.5, 5000)])
def test_the_longest_numbers_of_a_score_are_allowed(lo: float, hi: float) -> None:
    grammar = Number(lo, hi).grammar
    assert grammar.regex
    assert all(re.fullmatch(grammar.regex, text) for text in grammar.longest)


def test_a_pattern_of_ones_own_tells_nothing() -> None:
    assert Sampling(9, grammar=Grammar(regex="[a-z]+")).likely is None


def kind_of(function: str = "llm", template: str = "Say {}.", **options: Any) -> str:
    return CallSite(function, Template.parse(template).bind(1), parse_options(function, options)).kind


def test_calls_are_of_one_kind_where_their_answers_are_alike() -> None:
    alike = [
        kind_of(), kind_of(model="other"), kind_of(on_error="raise"), kind_of(seed=5),
        kind_of(field_order="free"),
    ]  # fmt: skip
    others = [
        kind_of(template="Sing {}."), kind_of(max_tokens=9), kind_of(temperature=1.0), kind_of(system="s"),
        kind_of(thinking="low"), kind_of(stop=["."]), kind_of(choices=["a"]), kind_of(choices=["a", "b"]),
        kind_of(choices=["a"], min_confidence=0.5), kind_of("llm_filter"), kind_of("llm_bool"),
        kind_of("llm_extract", schema="DATE"), kind_of("llm_extract", schema="TIME"), kind_of(top_p=0.5),
    ]  # fmt: skip
    assert len(set(alike)) == 1
    assert len({*alike, *others}) == 1 + len(others)
    assert kind_of(choices=["a"], min_confidence=0.5) == kind_of(choices=["a"], min_confidence=0.9)


def test_a_kind_tells_nothing_of_its_template() -> None:
    assert re.fullmatch("[0-9a-f]{16}", kind_of(template="My secret: {}\ud800"))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_tag_comes_back_as_it_went(function: str) -> None:
    options = {"choices": ["a", "b"]} if function in ("llm_classify", "llm_probs", "llm_tags") else {}
    options |= {"schema": "DATE"} if function == "llm_extract" else {}
    options |= {"questions": EXAMPLE} if function == "llm_decide" else {}
    parsed = parse_options(function, options)
    submission = Submission("r", ["a", "b"], sampling_of(function, parsed), kind=kind_of(function, **options))
    tag = submission.tag()
    assert read_tag(tag.args(), submission.sampling.output_cap) == tag
    assert tag.kind == submission.kind


def test_a_stage_is_remembered_unless_its_name_is_too_long() -> None:
    for length, stage in ((MAX_KIND, "s" * MAX_KIND), (MAX_KIND + 1, None)):
        tag = read_tag({"rel_id": "r", "rel_workflow": "w", "rel_stage": "s" * length}, 16)
        assert tag is not None
        assert (tag.workflow_id, tag.stage) == ("w", stage)


@pytest.mark.parametrize(
    ("given", "kind", "likely"),
    [
        ({"rel_kind": "k", "rel_likely": 3}, "k", 3),
        ({"rel_kind": "k" * (MAX_KIND + 1), "rel_likely": 99}, None, 16),
        ({"rel_kind": ["k"], "rel_likely": -1}, None, None),
        ({"rel_kind": "", "rel_likely": "many"}, None, None),
        ({"rel_kind": 7, "rel_likely": "3"}, "7", 3),
    ],
)
def test_what_a_stranger_says_of_lengths_is_taken_where_it_makes_sense(
    given: dict[str, Any], kind: str | None, likely: int | None
) -> None:
    assert read_tag({"rel_id": "r", **given}, 16) == RelTag("r", 1, 16, kind=kind, likely=likely)
