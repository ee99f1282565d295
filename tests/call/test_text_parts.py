"""Grammars of a text's parts, in EBNF and in Lark: all stretches of its words, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from relserve.call.answer_types import Grammar
from relserve.call.parts import automaton, lark_in, lark_of, marked, units_of
from relserve.call.schema import shape_of
from relserve.engines.http.gbnf import MOST_CHARS, gbnf_of
from tests.modules import later

xgrammar = later("xgrammar")
llguidance = later("llguidance")

TEXTS = {
    "plain": "When will order ORD-77598459 be delivered?",
    "repeats": "ab ab ab cab ab",
    "quotes": 'she said "no" \\ and "yes"\\n',
    "lines": "one\ntwo\ttwo\r\n\x01three",
    "marks": "e\u0301te\u0301 \u0928\u093f \U0001f469\u200d\U0001f52c\U0001f3fd caf\u00e9",
    "no spaces": "注文番号はAB-42です",
    "like Lark": '/a/ | "b"? {c} # d ::= %regex //',
}
JSON = shape_of('{"a": "VARCHAR", "n": "INTEGER", "l": ["VARCHAR"], "e": "ENUM(\'x/y\', \'z\')"}')


def parts_of(text: str) -> set[str]:
    """All stretches of its units."""
    units = units_of(text)
    return {"".join(units[i:j]) for i in range(len(units)) for j in range(i + 1, len(units) + 1)}


@pytest.fixture(scope="module")
def by_xgrammar() -> Callable[[Grammar, str], bool]:
    from xgrammar.testing import _is_grammar_accept_string

    return lambda grammar, text: _is_grammar_accept_string(xgrammar.Grammar.from_ebnf(gbnf_of(grammar)), text)


@pytest.fixture(scope="module")
def by_llguidance() -> Callable[[Grammar, str], bool]:
    class EachByte:
        eos_token_id, bos_token_id, special_token_ids = 256, None, (256,)
        tokens = (*(bytes([i]) for i in range(256)), b"<end>")

        def __call__(self, text: bytes) -> list[int]:
            return list(text)

    from llguidance import TokenizerWrapper

    tokenizer = llguidance.LLTokenizer(TokenizerWrapper(EachByte()), n_vocab=257)

    def takes(grammar: Grammar, text: str) -> bool:
        lark = llguidance.grammar_from("grammar", lark_of(grammar, str))
        matcher = llguidance.LLMatcher(tokenizer, lark)
        taken: Any = matcher.try_consume_tokens(list(text.encode()))
        assert not matcher.is_error() or taken < len(text.encode()), matcher.get_error()
        return bool(taken == len(text.encode()) and matcher.is_accepting())

    return takes


@pytest.fixture(params=["xgrammar", "llguidance"])
def takes(request: pytest.FixtureRequest) -> Callable[[Grammar, str], bool]:
    found: Callable[[Grammar, str], bool] = request.getfixturevalue(f"by_{request.param}")
    return found


@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_the_automaton_has_all_parts_and_no_more_than_two_states_a_unit(text: str) -> None:
    units = units_of(text)
    assert "".join(units) == text
    states, found = automaton(units), set[str]()
    paths = [("", 0)]
    while paths:
        said, at = paths.pop()
        paths += [(said + unit, to) for unit, to in states[at].items()]
        found |= {said} if said else set()
    assert found == parts_of(text)
    assert len(states) <= 2 * len(units) + 1


def test_words_and_numbers_are_whole_and_scripts_without_spaces_are_not() -> None:
    assert units_of("für 12kg ORD-775") == ["für", " ", "12", "kg", " ", "ORD", "-", "775"]
    assert units_of("注文です") == ["注", "文", "で", "す"]


@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_a_quote_is_a_part_or_null(takes: Callable[[Grammar, str], bool], text: str) -> None:
    grammar, parts = Grammar(source=(text,)), parts_of(text)
    for said in ("null", " null", text, f" {text}", units_of(text)[-1], *sorted(parts)[:20]):
        assert takes(grammar, said), said
    for made_up in ("nul", text + "x", text[::-1], text[0] + text[-1] + text[0], f"{text} {text}"):
        assert takes(grammar, made_up) == (made_up in parts), made_up


@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_texts_in_json_are_parts_as_json_spells_them(
    takes: Callable[[Grammar, str], bool], text: str
) -> None:
    grammar = Grammar(shape=JSON, source=(text, "other"))
    last = units_of(text)[-1]

    def spelled(**values: Any) -> str:
        return json.dumps({"a": text, "n": -3, "l": [last, "other"], "e": "x/y"} | values, ensure_ascii=False)

    assert takes(grammar, spelled())
    assert takes(grammar, spelled(a=None, n=None, l=None, e=None))
    assert takes(grammar, spelled(l=[]))
    for a in (text + "x", "", 5):
        assert not takes(grammar, spelled(a=a)), a
    for parts in (["other", ""], [last, text + "other"]):
        assert not takes(grammar, spelled(l=parts)), parts
    assert not takes(grammar, spelled(e=last))


@pytest.mark.parametrize("source", [(), ("",), ("", "")])
def test_of_no_text_there_is_null_alone(
    takes: Callable[[Grammar, str], bool], source: tuple[str, ...]
) -> None:
    assert takes(Grammar(source=source), "null")
    assert not takes(Grammar(source=source), "a")
    assert takes(Grammar(shape=shape_of('"VARCHAR"'), source=source), "null")
    assert not takes(Grammar(shape=shape_of('"VARCHAR"'), source=source), '"a"')


def test_of_two_texts_a_part_stands_in_one(takes: Callable[[Grammar, str], bool]) -> None:
    grammar = Grammar(source=("red cars", "blue"))
    assert [takes(grammar, text) for text in ("cars", "blue", "red", "cars blue")] == [True] * 3 + [False]


def test_a_long_text_s_parts_are_not_spelled_out() -> None:
    long = ("word " * MOST_CHARS,)
    assert gbnf_of(Grammar(source=long)) is None
    assert "t0s0" not in (gbnf_of(Grammar(shape=JSON, source=long)) or "t0s0")


def test_a_grammar_carries_another_in_a_line_that_others_leave_aside() -> None:
    lark = lark_of(Grammar(source=("a # b\n::= c",)), str)
    assert lark_in(marked(lark)) == lark
    assert lark_in('root ::= "a"') is None
    assert xgrammar.Grammar.from_ebnf(marked(lark)) is not None
