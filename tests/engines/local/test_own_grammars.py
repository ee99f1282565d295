"""Grammars of rows on a vLLM engine: what a bad one is told, and that it costs no other row."""

from __future__ import annotations

import pytest
from asking import ask, texts

from relserve.call.answer_types import Grammar
from relserve.engines.local.engine import LocalEngine
from relserve.engines.local.log import NO_TOKEN, TOO_SLOW
from relserve.errors import FailureKind

pytestmark = pytest.mark.vllm
GOOD = Grammar(ebnf='root ::= "fine"')


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("root ::= nosuch", 'line 1, column 10: Rule "nosuch" is not defined'),
        ('root ::= ("a"', "line 1, column 14: Expect )"),
        ('start ::= "a"', 'The root rule with name "root" is not found'),
        ("root ::= " + "(" * 5_000 + '"a"' + ")" * 5_000, "Nest layer exceeded"),
    ],
)
def test_a_bad_grammar_says_what_is_wrong_and_where(local_engine: LocalEngine, bad: str, said: str) -> None:
    replies = ask(local_engine, ["a", "b", "c"], grammars=[GOOD, Grammar(ebnf=bad), GOOD])
    assert texts([replies[0], replies[2]]) == ["fine"] * 2
    failure = replies[1].failure
    assert failure is not None
    assert failure.kind is FailureKind.REFUSED
    assert said in failure.message


@pytest.mark.parametrize(
    "odd",
    [
        "root ::= [^\\x00-\\U0010FFFF]",  # allows nothing at all
        'root ::= "a" root',  # never ends
        'root ::= ""',
        'root ::= root "a" | "b"',
        'root ::= ((("a"){1,1000}){1,1000}){1,1000}',
    ],
)
def test_an_odd_grammar_costs_neither_the_engine_nor_other_rows(local_engine: LocalEngine, odd: str) -> None:
    pid = local_engine.pid
    replies = ask(local_engine, ["a", "b", "c"], grammars=[GOOD, Grammar(ebnf=odd), GOOD])
    assert texts([replies[0], replies[2]]) == ["fine"] * 2
    assert (replies[1].text is None) == (replies[1].failure is not None)
    assert local_engine.pid == pid or pid is None
    assert texts(ask(local_engine, ["a"], grammars=[GOOD])) == ["fine"]


def test_a_grammar_of_unknown_characters_says_so(local_engine: LocalEngine) -> None:
    (reply,) = ask(local_engine, ["a"], grammars=[Grammar(ebnf="root ::= [^\\x00-\\U0010FFFF]")])
    assert reply.failure == (FailureKind.ENGINE, f"the engine gave the request up ({NO_TOKEN}), twice")


def test_a_grammar_that_is_read_in_many_ways_ends_its_rows_and_no_others(local_engine: LocalEngine) -> None:
    slow = Grammar(ebnf="root ::= " + "(" * 20 + '"a"' + "+)" * 19 + "){100,}")
    replies = ask(local_engine, ["a", "b", "c"], grammars=[GOOD, slow, slow], max_tokens=400)
    assert texts(replies[:1]) == ["fine"]
    told = FailureKind.ENGINE, f"the engine gave the request up ({TOO_SLOW}), twice"
    assert [reply.failure for reply in replies[1:]] == [told] * 2


@pytest.mark.long
def test_many_rows_have_a_grammar_each(local_engine: LocalEngine) -> None:
    words = [f"word{i}" for i in range(300)]
    grammars = [Grammar(ebnf=f'root ::= "{word}"') for word in words]
    prompts = [f"Say something about number {i}." for i in range(300)]
    assert texts(ask(local_engine, prompts, grammars=grammars, max_tokens=32)) == words
