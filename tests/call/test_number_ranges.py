"""Numbers of a range: what a grammar lets a model write, and what llm_int and llm_double take."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.call.options import FUNCTIONS, Options, parse_options
from relserve.call.schema.ranges import between
from relserve.errors import FailureKind, OptionError

BOUNDS = st.one_of(st.integers(-1200, 1200), st.integers(-(10**18), 10**18))


@given(BOUNDS, BOUNDS, BOUNDS)
def test_the_regex_of_a_range_is_the_range(one: int, other: int, number: int) -> None:
    lo, hi = sorted((one, other))
    matches = re.compile(between(lo, hi)).fullmatch
    for each in (number, lo - 1, lo, hi, hi + 1, 0):
        assert bool(matches(str(each))) == (lo <= each <= hi), each
    assert not any(matches(text) for text in ("007", "-0", "-07", "", " 1", "1.0"))


def answer(function: str, reply: str, **options: Any) -> Any:
    return FUNCTIONS[function].answer_type(parse_options(function, options)).parse(reply)


@pytest.mark.parametrize(
    ("function", "options", "fits", "misfits"),
    [
        ("llm_int", {"lo": 0, "hi": 120}, ("0", "120", "null"), ("-1", "121", "199999999999999999")),
        ("llm_int", {"lo": 1900}, ("1900", "999999999999999999"), ("1899", "-5")),
        ("llm_int", {"hi": -3}, ("-3", "-400"), ("-2", "0", "3")),
        ("llm_double", {"lo": 0, "hi": 1}, ('"0.5"', '"0"', '"1"'), ('"1.01"', '"-0.1"', '"2026.0314"')),
        ("llm_double", {"lo": -40.5}, ('"-40.5"', '"99.5"'), ('"-40.6"',)),
    ],
)
def test_answers_are_in_the_range_or_null_on_record(
    function: str, options: dict[str, float], fits: tuple[str, ...], misfits: tuple[str, ...]
) -> None:
    for reply in fits:
        assert answer(function, reply, **options).failure is None
    for reply in misfits:
        failure = answer(function, reply, **options).failure
        assert failure.kind == FailureKind.UNPARSABLE
        assert "number" in failure.message


def test_the_model_is_told_of_the_range_and_held_to_it() -> None:
    kind = FUNCTIONS["llm_int"].answer_type(parse_options("llm_int", {"lo": 0, "hi": 120}))
    assert kind.instruction == "Answer with: whole number from 0 to 120; or null if that is not told."
    assert kind.grammar is not None
    assert kind.grammar.shape is not None
    assert not re.fullmatch(kind.grammar.shape.regex(), "121")
    assert kind.grammar.shape.json_schema()["anyOf"][0] == {"type": "integer", "minimum": 0, "maximum": 120}
    rate = FUNCTIONS["llm_double"].answer_type(parse_options("llm_double", {"lo": 0, "hi": 5})).grammar
    assert rate is not None
    assert rate.shape is not None
    assert re.fullmatch(rate.shape.regex(), '"4.25"')
    assert not any(re.fullmatch(rate.shape.regex(), text) for text in ('"-4"', '"2026.0314"', '"1e9"'))


@pytest.mark.parametrize("function", ["llm_int", "llm_double"])
def test_without_a_range_nothing_has_changed(function: str) -> None:
    plain = FUNCTIONS[function].answer_type(Options())
    assert " from " not in plain.instruction
    assert " of " not in plain.instruction
    assert plain.parse("12345678").value == ("12345678" if function == "llm_int" else "12345678.0")


@pytest.mark.parametrize(
    ("function", "options", "said"),
    [
        ("llm_int", {"lo": 5, "hi": 5}, "lo must be below hi, not 5 and 5"),
        ("llm_double", {"lo": 2, "hi": 1}, "lo must be below hi, not 2 and 1"),
        ("llm_int", {"lo": 0.5}, "lo of llm_int() must be a whole number, not 0.5"),
        ("llm_int", {"hi": 1e10}, "hi must be"),
        ("llm_bool", {"lo": 0}, "llm_bool() has no option 'lo'"),
        ("llm_score", {"lo": 10}, "lo must be below hi, not 10 and 10"),
    ],
)
def test_ranges_without_a_number_are_refused(function: str, options: dict[str, float], said: str) -> None:
    with pytest.raises(OptionError, match=re.escape(said)):
        parse_options(function, options)
