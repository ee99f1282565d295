"""Options: what is accepted, and what the messages of the refused say."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.call.option_specs import OPTIONS
from relserve.call.options import FUNCTIONS, Options, parse_options
from relserve.call.relquery import sampling_of
from relserve.errors import OptionError

QUESTION = '{"a": {"type": "noul", "instructions": "?"}}'
MASS = QUESTION.replace('"a"', '"label_mass"')


def test_nothing_given_gives_the_defaults() -> None:
    assert parse_options("llm", {}) == Options()
    assert parse_options("llm", {"max_tokens": None, "system": None}) == Options()


def test_every_option_of_every_function_is_declared() -> None:
    for function, spec in FUNCTIONS.items():
        assert set(spec.options) <= set(OPTIONS), function
        assert set(spec.required) <= set(spec.options), function
        assert all(hasattr(Options(), name) for name in spec.options), function


@pytest.mark.parametrize("stop", [["\n"], [" ", "\t"], "\r\n", [".", "\n"]])
def test_white_space_ends_an_answer_too(stop: Any) -> None:
    texts = (stop,) if isinstance(stop, str) else tuple(stop)
    assert parse_options("llm", {"stop": stop}).stop == texts


@pytest.mark.parametrize(
    ("function", "given_options", "message"),
    [
        ("llm", {"max_token": 5}, r"no option 'max_token'. Did you mean max_tokens\? It takes: max_tokens"),
        ("llm_filter", {"choices": ["a"]}, "llm_filter\\(\\) has no option 'choices'"),
        ("llm", {"max_tokens": "five"}, "max_tokens must be a whole number, not 'five'"),
        ("llm", {"max_tokens": 0}, "max_tokens must be from 1 to"),
        ("llm", {"max_tokens": True}, "whole number"),
        ("llm", {"max_tokens": float("inf")}, "whole number"),
        ("llm", {"seed": float("nan")}, "whole number"),
        ("llm", {"temperature": -1}, "temperature must be from 0 to 2, not -1"),
        ("llm", {"temperature": float("nan")}, "temperature must be a number"),
        ("llm", {"on_error": "ignore"}, "on_error must be 'null'"),
        ("llm", {"system": " "}, "system must be a text that is not empty"),
        ("llm_classify", {}, r"llm_classify\(\) needs choices := \['positive', 'negative'\]"),
        ("llm", {"stop": [""]}, "stop holds ''; each must be a text that is not empty"),
        ("llm_classify", {"choices": [" "]}, "choices holds ' '; each must be a text that is not empty"),
        ("llm_classify", {"choices": []}, "choices must be a list of texts that is not empty"),
        ("llm_classify", {"choices": ["a", "b", "a"]}, "choices holds 'a' more than once"),
        ("llm_classify", {"choices": ["a", ""]}, "choices holds ''; each must be a text"),
        ("llm_classify", {"choices": ["a", None]}, "choices holds None"),
        (
            "llm_classify",
            {"choices": "positive, negative"},
            r"choices must be a list of texts, e.g. \['positive', 'negative'\], not the text 'positive, neg",
        ),
        ("llm", {"choices": "yes"}, r"choices must be a list of texts, e.g. \['yes'\], not the text 'yes'"),
        ("llm", {"choices": ""}, r"choices must be a list of texts, e.g. \['yes', 'no'\], not the text ''"),
        ("llm_score", {"lo": 5, "hi": 1}, "lo must be below hi, not 5 and 1"),
        ("llm_score", {"lo": 0.001, "hi": 0.004}, "lo and hi must be at least 0.01 apart"),
        ("llm_score", {"hi": float("inf")}, "hi must be a number"),
        (
            "llm",
            {"thinking": "hard"},
            "thinking must be 'off', 'low', 'high' or a number of tokens, not 'hard'",
        ),
        ("llm", {"grammar": "root ::= nosuch"}, "grammar: the grammar has no rule 'nosuch'"),
        (
            "llm",
            {"grammar": "root ::= ("},
            "grammar: line 1, column 11 of the grammar: a closing parenthesis",
        ),
        ("llm", {"grammar": 'root ::= "a"' + "#" * 200_000}, "grammar has 200,012 characters; the most is"),
        ("llm", {"grammar": 'root ::= "a"', "choices": ["a"]}, "choices and grammar both say"),
        ("llm_filter", {"grammar": 'root ::= "a"'}, "llm_filter\\(\\) has no option 'grammar'"),
        ("llm", {"thinking": "512"}, "or a number of tokens, not '512'"),
        ("llm", {"thinking": True}, "or a number of tokens, not True"),
        ("llm_agg", {"thinking": 0.5}, "thinking must be a whole number, not 0.5"),
        ("llm_int", {"thinking": -1}, "thinking must be from 0 to"),
        ("llm_prob", {"debias": 3}, r"debias must be from 1 to 2, .* of llm_prob\(\) weighs, not 3"),
        ("llm_probs", {"choices": list("abc"), "debias": 4}, "debias must be from 1 to 3, .*, not 4"),
        ("llm_tags", {"choices": list("abc"), "debias": 3}, "debias must be from 1 to 2"),
        ("llm_score", {"debias": 2}, r"debias needs levels := \[..\]"),
        ("llm_decide", {"questions": QUESTION, "debias": 3}, "debias must be from 1 to 2"),
        ("llm_prob", {"debias": "two"}, "debias must be a whole number, not 'two'"),
        ("llm_prob", {"prior": "rows"}, "prior must be 'none' or 'empty' .*, not 'rows'"),
        ("llm_prob", {"label_mass": True}, r"llm_prob\(\) has no option 'label_mass'"),
        ("llm_probs", {"choices": ["a", "label_mass"], "label_mass": True}, "which llm_probs.. has already"),
        ("llm_decide", {"questions": MASS, "label_mass": True}, "which llm_decide.. has already"),
        ("llm_classify", {"debias": 2, "choices": ["a"]}, r"llm_classify\(\) has no option 'debias'"),
    ],
)
def test_bad_options_say_what_is_wrong(function: str, given_options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        parse_options(function, given_options)


@pytest.mark.cells(20)
@pytest.mark.parametrize(
    ("thinking", "tokens"),
    [("off", 0), ("low", 512), ("high", 4096), (700, 700), (700.0, 700), (0, 0), (None, 0)],
)
@pytest.mark.parametrize("function", [name for name, spec in FUNCTIONS.items() if "thinking" in spec.options])
def test_thinking_is_a_number_of_tokens(function: str, thinking: Any, tokens: int) -> None:
    needed = {"llm_classify": {"choices": ["a"]}, "llm_extract": {"schema": '{"a": "INT"}'}}
    options = parse_options(function, {"thinking": thinking, **needed.get(function, {})})
    assert options.thinking == tokens
    assert sampling_of(function, options).thinking == tokens


anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.text(max_size=3), max_size=4),
)


@given(st.sampled_from(sorted(FUNCTIONS)), st.dictionaries(st.sampled_from(sorted(OPTIONS)), anything))
def test_any_options_are_accepted_or_refused_with_an_option_error(
    function: str, given_options: dict[str, Any]
) -> None:
    try:
        options = parse_options(function, given_options)
    except OptionError:
        return
    FUNCTIONS[function].answer_type(options)
