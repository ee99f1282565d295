"""The grammars that vLLM gets: an answer with or without the space that most tokenizers put before a word."""

from __future__ import annotations

from typing import Any

import pytest

from relserve.call.answer_types import Grammar
from relserve.call.schema import shape_of
from relserve.call.structured import structured_outputs_of
from tests.modules import later

xgrammar = later("xgrammar")


ODD = ("a\nb", 'say "no"', "back\\slash", "tab\there", "\x01", "\x08", "\x7f", "café 😀", "a|b", "]x[", "'")


@pytest.fixture(scope="module")
def compiler() -> Any:
    tokens = xgrammar.TokenizerInfo([bytes([i]) for i in range(256)], stop_token_ids=[0])
    return xgrammar.GrammarCompiler(tokens)


def takes(compiler: Any, grammar: Grammar, text: str) -> bool:
    """Whether the grammar allows `text` as a whole reply."""
    fields = structured_outputs_of(grammar, str)
    make = compiler.compile_grammar if "grammar" in fields else compiler.compile_regex
    matcher = xgrammar.GrammarMatcher(make(*fields.values()))
    return all(matcher.accept_token(byte) for byte in text.encode()) and matcher.accept_token(0)


@pytest.mark.parametrize(
    ("grammar", "reply"),
    [
        (Grammar(choices=("yes", "no")), "yes"),
        (Grammar(regex="[0-9]{1,2}"), "12"),
        (Grammar(shape=shape_of('{"a": "INTEGER"}')), '{"a": 1}'),
        (Grammar(shape=shape_of('"DATE"')), '"2024-01-31"'),
    ],
)
def test_a_reply_may_begin_with_one_space(compiler: Any, grammar: Grammar, reply: str) -> None:
    for lead, allowed in (("", True), (" ", True), ("  ", False), ("\n", False)):
        assert takes(compiler, grammar, lead + reply) == allowed
    assert grammar.without_space(f" {reply}") == reply


def test_choices_with_white_space_of_their_own_get_none(compiler: Any) -> None:
    grammar = Grammar(choices=(" a", "b"))
    assert [takes(compiler, grammar, text) for text in (" a", "b", " b", "a")] == [True, True, False, False]
    assert grammar.without_space(" a") == " a"


@pytest.mark.parametrize("choice", ODD)
def test_odd_choices_are_allowed_as_they_are(compiler: Any, choice: str) -> None:
    grammar = Grammar(choices=(choice, "other"))
    assert takes(compiler, grammar, choice)
    assert takes(compiler, grammar, f" {choice}")
    assert not takes(compiler, grammar, choice + "!")
