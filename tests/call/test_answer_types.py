"""Answer types: replies become values or failures, never guesses."""

import math
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from relserve.call.answer_types import AnswerType, ChoiceAnswer, Grammar, Number, Text, YesNo
from relserve.errors import FailureKind

words = st.text(st.characters(categories=("L", "N"), exclude_characters=""), min_size=1, max_size=8)


@given(st.lists(words, min_size=1, max_size=6, unique=True))
def test_every_choice_parses_to_itself(choices: list[str]) -> None:
    kind = ChoiceAnswer(tuple(choices))
    assert [kind.parse(c).value for c in choices] == choices
    assert kind.grammar.choices == tuple(choices)


@pytest.mark.parametrize("kind", [ChoiceAnswer(("yes", "no")), YesNo(), Number(1, 5)])
@given(st.text(max_size=12))
def test_other_replies_are_failures_not_values(kind: AnswerType, reply: str) -> None:
    allowed = kind.grammar.choices if kind.grammar else ()
    assume(reply.strip().casefold() not in allowed)
    assume(not re.fullmatch(r"\s*[-+]?[0-9]+(\.[0-9]+)?\s*", reply))
    answer = kind.parse(reply)
    assert answer.value is None
    assert answer.failure is not None
    assert answer.failure.kind is FailureKind.UNPARSABLE


def test_case_and_space_around_a_choice_do_not_matter_unless_ambiguous() -> None:
    assert ChoiceAnswer(("Positive", "Negative")).parse(" positive\n").value == "Positive"
    assert ChoiceAnswer(("a", "A")).parse("A").value == "A"
    assert ChoiceAnswer(("ab", "AB")).parse("Ab").failure


def test_yes_and_no_are_booleans() -> None:
    assert (YesNo().parse("yes").value, YesNo().parse("no").value) == (True, False)
    assert YesNo().parse("maybe").failure


bounds = st.floats(-1e6, 1e6).map(lambda x: round(x, 2))


@given(bounds, bounds)
def test_numbers_of_the_grammar_lie_within_the_bounds(a: float, b: float) -> None:
    lo, hi = min(a, b), max(a, b)
    assume(hi - lo >= 0.02)
    kind = Number(lo, hi)
    for text in kind.grammar.choices:
        value = kind.parse(text).value
        assert value is not None
        assert lo <= value <= hi
        assert math.isclose(value, float(text))
    if not kind.grammar.choices:
        assert re.fullmatch(kind.grammar.regex, str(int(hi)))


@pytest.mark.parametrize(
    ("kind", "reply", "value"),
    [
        (Number(1, 5), "4", 4.0),
        (Number(0, 1), "0.25", 0.25),
        (Number(-3, 3), "-2", -2.0),
        (Number(0, 1e6), "12", 12.0),
    ],
)
def test_scores(kind: Number, reply: str, value: float) -> None:
    assert kind.parse(reply).value == value


@pytest.mark.parametrize("reply", ["6", "0", "4/5", "four", "", "nan", "1e0", "٤"])
def test_scores_out_of_range_or_not_numbers_fail(reply: str) -> None:
    assert Number(1, 5).parse(reply).failure


def test_whole_bounds_give_whole_numbers() -> None:
    assert Number(1, 5).grammar.choices == ("1", "2", "3", "4", "5")
    assert Number(0, 1).grammar.choices[:3] == ("0", "0.01", "0.02")
    assert Number(100000.5, 100001).grammar.choices[:2] == ("100000.5", "100000.51")
    assert Number(1, 5).instruction == "Answer with a number from 1 to 5."


def test_free_text_is_stripped() -> None:
    assert Text().parse(" hello \n").value == "hello"


@pytest.mark.parametrize(
    ("choices", "written"),
    [
        (("yes", "no"), {"Yes": "yes", "No": "no"}),
        (("Good", "bad"), {"Bad": "bad"}),
        (("us", "US", "it"), {"It": "it"}),  # the first two differ in their case alone
        (("ßa", "1", "", "ǆ"), {"Ǆ": "ǆ"}),  # SS has another length
        (tuple(f"a{i}" for i in range(65)), {}),
    ],
)
def test_choices_are_read_with_a_capital_letter_too(choices, written):
    grammar = Grammar(choices=choices)
    assert grammar.written == {**{choice: choice for choice in choices}, **written}
    assert all(grammar.choice_of(text) == choice for text, choice in written.items())


def test_the_grammar_of_choices_has_both_cases():
    rule = Grammar(choices=("yes", "a", "No")).choice_alternatives(repr)
    assert rule == "('y' | 'Y') 'es' | ('a' | 'A') | 'No'"
