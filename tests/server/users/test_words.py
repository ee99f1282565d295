"""The lock reads texts as DuckDB's parser does, or not at all."""

from __future__ import annotations

import random
import re
from itertools import pairwise

import duckdb
import pytest
import sqlglot
from duckdb import token_type as Kind

from relserve.errors import ForbiddenError
from relserve.server.users.long_texts import Odd, kinds_of_long
from relserve.server.users.plain import plain_text
from relserve.server.users.tree import named, parser
from relserve.server.users.words import words

PIECES = (
    "'", "''", '"', '""', "`", "``", "$$", "$a$", "$é$", "$\U0001f600$", "$1", "$a", "--", "\n", "\r", "/*",
    "*/", ";", "\\", "\\'", "E'", "e'", "x'", "N'", "U&'", "'a'", '"a"', "`a`", " ", "\t", "\v", "\u00a0",
    "\u2003", "\u200b", "\ufeff", "\u3000", "\u2060", "\u0085", "\u1680", "\u200d", "é", "SELECT ",
    "SELECT\u00a0", "FROM t ", ", ", "(", ")", "1", "1e", "1.", "_", "a", " AS a", "{", "}", "{#", "{%", "#1",
    "[", "]", "?", "|", "+", "-", "::", "->", "//", "null", "||'a'", "'a'||",
)  # fmt: skip
_SHAPE = re.compile(r'[{,]"(?:type|class|kind)":"(\w*)"')


def texts(seed: int, count: int) -> list[str]:
    """Made of what is read in several ways."""
    dice = random.Random(seed)
    return ["SELECT " + "".join(dice.choices(PIECES, k=dice.randint(1, 8))) for _ in range(count)]


def shape(text: str) -> list[str] | None:
    """What DuckDB's parser made of a text; None: it cannot read it."""
    told = parser().execute("SELECT json_serialize_sql($1)", [text]).fetchall()[0][0]
    return None if told.startswith('{"error":true') else _SHAPE.findall(told)


def retold(text: str) -> str:
    """The text with other strings, names and comments where DuckDB's tokenizer sees such."""
    data = text.encode()
    tokens = [*duckdb.tokenize(text), (len(data), Kind.comment)]
    parts = [data[: tokens[0][0]].decode()]
    for number, ((start, kind), (end, _)) in enumerate(pairwise(tokens)):
        here = data[start:end].decode()
        behind = here[len(here.rstrip()) :]
        if kind == Kind.comment:
            here = "\n" if "\n" in here or "\r" in here else " "
        elif kind == Kind.string_const and here[0] in "'eE$":
            here = f"'00000000'{behind}"
        elif here[0] in '"`':
            here = f'"name {number}"{behind}'
        parts.append(here)
    return "".join(parts)


def test_the_tokenizer_cuts_a_text_as_the_parser_does():
    num_read = 0
    for text in texts(seed=1, count=2500):
        plain = plain_text(text)
        try:
            words(plain)
        except ForbiddenError:
            continue
        if (made := shape(plain)) is not None:
            num_read += 1
            assert shape(retold(plain)) == made, (text, plain)
    assert num_read > 100


def test_a_plain_text_means_the_same_and_sqlglot_cuts_it_alike():
    num_read = 0
    for text in texts(seed=2, count=2500):
        made, plain = shape(text), plain_text(text)
        if made is None or shape(plain) is None:
            continue
        num_read += 1
        assert shape(plain) == made, (text, plain)
        try:
            kinds = [token.token_type.name for token in sqlglot.tokenize(plain, read="duckdb")]
        except sqlglot.errors.SqlglotError:
            continue
        strings = [kind for _, kind in duckdb.tokenize(plain) if kind == Kind.string_const]
        assert sum("STRING" in kind for kind in kinds) == len(strings), (text, plain)
    assert num_read > 100


def test_a_long_text_is_read_alike_or_not_at_all():
    num_read = 0
    for text in texts(seed=3, count=2500):
        try:
            kinds = kinds_of_long(text)
            parsed = parser().extract_statements(text)
        except (Odd, duckdb.Error):
            continue
        num_read += 1
        assert kinds == [each.type for each in parsed], text
    assert num_read > 30


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("SELECT\u00a01,\u20032\ufeff", "SELECT 1, 2 "),
        ("SELECT '\u00a0', \"\u00a0\", $a$\u00a0$a$ -- \u00a0", None),
        ("SELECT e'\\'\u00a0'\u00a0", "SELECT e'\\'\u00a0' "),
        ("/* \u00a0 /* */ \u00a0*/\u00a0SELECT 1", "               SELECT 1"),
        ('SELECT 1 AS `a"``b`', 'SELECT 1 AS "a""`b"'),
        ("SELECT 1 -- it's\r, 2", "SELECT 1        \r, 2"),
        ("SELECT größe, 'E''x', \"a`b\" FROM t -- `", "SELECT größe, 'E''x', \"a`b\" FROM t     "),
    ],
)
def test_blanks_backticks_and_comments_are_plain(text, plain):
    assert plain_text(text) == (plain or text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("SELECT\u20601", r"character 7 .* U\+2060 \(WORD JOINER\), outside of quotes, .* leave it out"),
        ("SELECT 'é', a\u200db", r"character 14 .* U\+200D \(ZERO WIDTH JOINER\)"),
        ("SELECT 1 \x01", r"character 10 .* U\+0001 \(a control character\)"),
        ("SELECT $é$\u00a0$é$", r"character 8 .* begins a \$tag\$ .* another tag"),
    ],
)
def test_what_cannot_be_read_surely_is_refused_with_its_place(text, told):
    with pytest.raises(ForbiddenError, match=told):
        words(text)


def test_letters_of_any_language_are_words():
    names = [word.name for word in words("SELECT größe, 数量 AS \U0001f600") if word.is_name]
    assert names == ["select", "größe", "数量", "as", "\U0001f600"]


@pytest.mark.parametrize(
    ("text", "calls", "relations", "copies"),
    [
        ("FROM \"Read_Text\"('x')", {"read_text"}, set(), False),
        ('SELECT \'a,"function_name":"copy"\' FROM "x""y"', set(), {'x\\"y'}, False),
        ("INSERT INTO t SELECT upper(a) FROM 'U'", {"upper"}, {"u"}, False),
        ("WITH a AS (COPY t TO 'x') SELECT 1", set(), set(), True),
        ("UPDATE t SET a = (SELECT max(b) FROM u)", {"max"}, {"t", "u"}, False),
    ],
)
def test_what_a_statement_names_duckdb_tells(text, calls, relations, copies):
    found = named(text, writes=not text.startswith(("FROM", "SELECT", "WITH")))
    assert found is not None
    assert (found.calls, found.copies) == (calls, copies)
    assert relations <= found.relations


def test_duckdb_does_not_tell_of_what_defines():
    assert named("CREATE TABLE t (a INT)") is None
