"""Grammars in GBNF, read back by xgrammar, whose notation they fit too."""

from __future__ import annotations

import json
import random

import pytest

from relserve.call.answer_types import Extract, Grammar
from relserve.call.ebnf import EbnfError
from relserve.call.schema import shape_of
from relserve.engines.http.gbnf import MOST_REPEATS, gbnf_of
from tests.modules import later

xgrammar = later("xgrammar")

SCHEMA = (
    r"""{"day": "DATE", "at": "TIMESTAMP[]", "n": "TINYINT", "kind": "ENUM('a', 'ü \\ \"')",  """
    r""" "t": "VARCHAR", "x": "DOUBLE", "d": "DECIMAL(9,2)[3]", "ok": "BOOLEAN", "in": {"l": "VARCHAR[]"}}"""
)


def takes(grammar, text):
    from xgrammar.testing import _is_grammar_accept_string

    return _is_grammar_accept_string(xgrammar.Grammar.from_ebnf(gbnf_of(grammar)), text)


@pytest.mark.parametrize(
    "choice", ["yes", "in stock", 'a "quoted" \\ one', "two\nlines", "a\tb\x7f", "ü😀", "-[^]"]
)
def test_choices(choice):
    grammar = Grammar(choices=("no", choice))
    assert takes(grammar, choice)
    assert takes(grammar, "no")
    assert takes(grammar, " no")
    for other in ("", choice[:-1], choice + "x", "no" + choice):
        assert not takes(grammar, other)


def test_choices_that_begin_with_white_space_get_no_other():
    grammar = Grammar(choices=(" a", "b"))
    assert takes(grammar, " a")
    assert not takes(grammar, "a")
    assert not takes(grammar, " b")


@pytest.mark.parametrize(
    ("regex", "fits", "others"),
    [
        (r"-?[0-9]{1,3}(\.[0-9]{1,2})?", ["0", "-12.5", "999.99"], ["", "-", "1.", "1234", "1.234"]),
        ("[0-9]{2,}", ["12", "123456"], ["1", "1a"]),
        ("(a|bc)+d*", ["a", "bcabcdd"], ["d", "ab"]),
        (r"(?:\[\]|\{\}|\\|a\^\$)", ["[]", "{}", "\\", "a^$"], ["", "[}"]),
        (r'[^"\\\x01-\x1f]*', ["", "ünïcode"], ['"', "\n", "\\"]),
        ('["\\\\/b]', ['"', "\\", "/", "b"], ["a"]),
    ],
)
def test_regexes(regex, fits, others):
    assert all(takes(Grammar(regex=regex), text) for text in fits)
    assert not any(takes(Grammar(regex=regex), text) for text in others)


def test_the_samples_of_every_type_fit_and_their_beginnings_do_not():
    kind = Extract(shape_of(SCHEMA))
    for seed in range(20):
        text = json.dumps(kind.grammar.shape.sample(random.Random(seed)), ensure_ascii=False)
        assert takes(kind.grammar, text), text
        assert not takes(kind.grammar, text[:-1])


def test_what_llama_cpp_would_not_parse_is_not_written():
    assert gbnf_of(Grammar(regex=f"a{{{MOST_REPEATS}}}"))
    assert gbnf_of(Grammar(regex=f"a{{1,{MOST_REPEATS + 1}}}")) is None
    assert gbnf_of(Grammar(regex=f"a{{{MOST_REPEATS + 1},}}")) is None


EBNF = r"""
# one rule on two lines
root ::= "a_b" (sub_rule | sub.rule)*  # and a comment
  ("." | [\x41-\u0043\]])
sub_rule ::= "(" sub-rule{0,2} ")" | ""
sub.rule ::= "<" [^<>]+ ">"
sub-rule ::= "x"{1,3} | "y"?
"""


def test_an_ebnf_has_one_line_a_rule_and_names_of_its_own():
    lines = gbnf_of(Grammar(ebnf=EBNF)).splitlines()
    assert lines == [
        r'root ::= "a_b" (sub-rule | sub-rule-){0,} ("." | [\x41-\u0043\]])',
        'sub-rule ::= "(" sub-rule--{0,2} ")" | ""',
        'sub-rule- ::= "<" [^<>]{1,} ">"',
        'sub-rule-- ::= "x"{1,3} | "y"{0,1}',
    ]


def test_an_ebnf_allows_the_same():
    fits = ["a_b.", "a_bA", "a_b]", "a_b(xxx).", "a_b(xy)(y)()C", "a_b<z\n>.", "a_b<_>B"]
    others = ["a_b", "a-b.", "a_bD", "a_b<>.", "a_b(xxxyx).", "."]
    plain = Grammar(ebnf=EBNF)
    from xgrammar.testing import _is_grammar_accept_string

    for text in fits + others:
        assert takes(plain, text) == (text in fits)
        assert _is_grammar_accept_string(xgrammar.Grammar.from_ebnf(EBNF), text) == (text in fits)


@pytest.mark.parametrize(
    ("ebnf", "said"),
    [
        ('root ::= root "a" | "b"', "the rule 'root' begins with itself"),
        ('root ::= "a"{1,5000}', "more than 2,000 times"),
        ("root ::= nosuch", "no rule 'nosuch'"),
    ],
)
def test_an_ebnf_that_llama_cpp_would_not_take_is_refused(ebnf, said):
    with pytest.raises(EbnfError, match=said):
        gbnf_of(Grammar(ebnf=ebnf))
