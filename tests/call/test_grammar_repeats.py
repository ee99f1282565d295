"""Repeats in repeats are counted, however they are written."""

from __future__ import annotations

import pytest

from relserve.call.grammar_repeats import MAX_COUNTS, counts_of_ebnf, counts_of_regex
from relserve.call.option_specs import grammar as grammar_of
from relserve.errors import OptionError


@pytest.mark.parametrize(
    ("pattern", "counts"),
    [
        ("a{0,1000}", 0), (".{5}[{}]{3}x*", 0), ("(a{0,10}){0,20}", 200), ("(a{0,10}|b{3,}){2}", 26),
        ("((a{10}){10}){10}", 1000), ("(?:a{10}b{5}){4}c{9}", 60), ("(a{0,10})*{0,20}", 200),
        ('"(a{0,10}){0,20}"', 200), (r"\(a{0,10}\){0,20}", 0), ("[(]a{10}[)]{20}", 0), ("(a{10}){0,1}", 0),
        ("(a{10}", 0), ("((a{10}){10}", 100), ("a)b{3}", 0), ("# (a{10}){10}", 100), ("a{10}{10}", 100),
    ],
)  # fmt: skip
def test_counts_of_a_regex(pattern: str, counts: int) -> None:
    assert counts_of_regex(pattern) == counts


@pytest.mark.parametrize(
    ("grammar", "counts"),
    [
        ('root ::= "(a{10}){10}" [({] # b{10}{10}', 0), ('root ::= ("a"{10}){10}', 100),
        ('root ::= b {10}\nb ::= c | d\nc ::= "x"{7}\nd ::= root{2}', 90),
        ('root ::= ("a" root){10} | ""', 0), ('root ::= item{1,30}\nitem ::= "- " [a-z]+', 0), ("", 0),
    ],
)  # fmt: skip
def test_counts_of_a_grammar(grammar: str, counts: int) -> None:
    assert counts_of_ebnf(grammar) == counts


def test_a_long_chain_of_rules_hides_nothing() -> None:
    chain = "\n".join(f"r{number} ::= r{number + 1}" for number in range(1000))
    assert counts_of_ebnf(f'{chain}\nr1000 ::= "a"') > MAX_COUNTS


def test_an_option_with_too_many_is_refused() -> None:
    with pytest.raises(OptionError, match=r"^grammar has repeats in repeats, .* of 1,000,000,000 counts"):
        grammar_of("grammar", 'root ::= (("a"{0,1000}){0,1000}){0,1000}')
    assert grammar_of("grammar", 'root ::= ("a"{0,100}){0,100}')
