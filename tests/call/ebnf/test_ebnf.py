"""Grammars in EBNF: what is read, what is refused and where, and texts made up under them."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.call.ebnf import EbnfError, left_recursive, read_ebnf, sample

LIST = r"""
# columns, in any number
root ::= "SELECT " columns
  | "COUNT"
columns ::= column (", " column){0,2}  # at most three
column  ::= "a_1" | "b\"2" | [x-z]+
"""
SUM = 'root ::= term ("+" term)*\nterm ::= [0-9] | "(" root ")"'


@pytest.mark.parametrize(
    ("grammar", "allowed"),
    [
        (LIST, r'COUNT|SELECT (a_1|b"2|[x-z]+)(, (a_1|b"2|[x-z]+)){0,2}'),
        (SUM, r"[0-9+()]+"),
        ('root::="a"{3}', "aaa"),
        ('root ::= "a"{2,}', "aa+"),
        ('root ::= "a" {1 , 2} "b"?', "aa?b?"),
        (r'root ::= "\x41\u00e4\U0001F600\n\t\\"', "Aä😀\n\t\\\\"),
        (r"root ::= [\]\\a-c\-]", r"[\]\\a-c-]"),
        ("root ::= [^a-z]", "[^a-z]"),
        ('root ::= ("" | "x") ""', "x?"),
        ('root ::= other.one other-two\nother.one ::= "1"\nother-two ::= "2"', "12"),
    ],
)
def test_made_up_texts_are_what_the_grammar_allows(grammar: str, allowed: str) -> None:
    rules = read_ebnf(grammar)
    made = {sample(rules, Random(seed)) for seed in range(200)}
    assert [text for text in made if not re.fullmatch(allowed, text)] == []


def test_made_up_texts_differ_and_repeat_by_seed() -> None:
    rules = read_ebnf(LIST)
    made = [sample(rules, Random(seed)) for seed in range(50)]
    assert len(set(made)) > 15
    assert [sample(rules, Random(seed)) for seed in range(50)] == made


def test_texts_of_a_rule_within_itself_come_to_an_end() -> None:
    rules = read_ebnf('root ::= "(" root root ")" | "."')
    made = [sample(rules, Random(seed)) for seed in range(20)]
    assert all(text.count("(") == text.count(")") for text in made)
    assert max(map(len, made)) > 10


@pytest.mark.parametrize(
    ("grammar", "said"),
    [
        ("", "no rule 'root'"),
        ('start ::= "a"', "no rule 'root'"),
        ("root ::= nosuch", "no rule 'nosuch'"),
        ('root ::= "a"\nroot ::= "b"', "two rules 'root'"),
        ('root ::= ("a"\nb ::= "c"', "line 2, column 1 of the grammar: a closing parenthesis is wanted"),
        ('root ::= "a', "line 1, column 10 of the grammar: cannot read"),
        ('root ::= "a")', "line 1, column 13 of the grammar: a rule, like: root"),
        ("root ::= *", "line 1, column 10 of the grammar: a text, a set"),
        ("SELECT 1", "line 1, column 8 of the grammar: cannot read '1'"),
        ('root ::= "a" (="b")', "cannot read '(="),
        ("root ::= [z-a]", "end is before its beginning"),
        (r'root ::= "\UFFFFFFFF"', "is no character"),
    ],
)
def test_what_is_no_grammar_is_refused_with_its_place(grammar: str, said: str) -> None:
    with pytest.raises(EbnfError, match=re.escape(said)):
        read_ebnf(grammar)


def test_a_grammar_without_end_has_no_sample() -> None:
    with pytest.raises(EbnfError, match="comes to an end"):
        sample(read_ebnf('root ::= "a" root'), Random(0))


@pytest.mark.parametrize(
    ("grammar", "rule"),
    [
        (SUM, None),
        ('root ::= root "a" | "b"', "root"),
        ('root ::= "" x\nx ::= y? z\nz ::= x\ny ::= "y"', "x"),
        ('root ::= "c" x\nx ::= y "a"\ny ::= x "c" | "d"', "x"),
    ],
)
def test_rules_that_begin_with_themselves_are_found(grammar: str, rule: str | None) -> None:
    assert left_recursive(read_ebnf(grammar)) == rule


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    for grammar in (text, f"root ::= {text}"):
        try:
            assert isinstance(sample(read_ebnf(grammar), Random(1)), str)
        except EbnfError:
            continue
