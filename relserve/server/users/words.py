"""The words of an SQL text as DuckDB reads them: comments and strings are none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import duckdb
from duckdb import token_type as Kind

_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_PLAIN = re.compile(r"[\w$]+")
# What a long text is cut at. Quotes that stand for themselves make two strings of one, which is no matter.
_PART = re.compile(
    r"""(?P<plain>[^'"`;$/-]{1,65536}+) | (?P<string>'[^']*+') | (?P<name>"[^"]*+") | (?P<comment>--[^\r\n]*+)
    | (?P<end>;) | (?P<odd>['"`] | /\* | \$\w*\$) | (?P<other>[$/-])""",
    re.X,
)
_PREFIXED = re.compile(r"(?:^|\W)(?:[eE]|[uU]&)$")


class Word(NamedTuple):
    """One word of a text.

    Attributes:
        name: a keyword or identifier, in lower case and without quotes; of anything else its first letter.
        is_name: whether it is a keyword or identifier.
        start: its place in the text, as UTF-8 counts.
    """

    name: str
    is_name: bool
    start: int


class Odd(ValueError):
    """A text holds what only DuckDB's own parser is trusted to read."""


def words(text: str) -> list[Word]:
    """The words of a text, by DuckDB's own tokenizer."""
    return list(_words(text))


def _words(text: str) -> Iterator[Word]:
    data = text.encode()
    tokens = [(start, kind) for start, kind in duckdb.tokenize(text) if kind != Kind.comment]
    for (start, kind), (end, _) in pairwise([*tokens, (len(data), Kind.comment)]):
        here = data[start:end].decode(errors="replace") if kind != Kind.string_const else "'"
        quoted = _QUOTED.match(here)
        found = quoted or _PLAIN.match(here)
        if found is None or (kind == Kind.numeric_const and here[0].isdigit()):
            yield Word(here[:1], False, start)
        elif quoted:
            yield Word(quoted[1].replace('""', '"').lower(), True, start)
        else:
            yield Word(found[0].lower(), True, start)


def long_statements(text: str) -> list[str]:
    """The statements of a text in lower case, each without its comments and with '' for every string.

    In Python, which gives other threads a turn every few milliseconds: DuckDB's tokenizer and parser hold
    them all up, for a second a megabyte.

    Raises:
        Odd: it holds strings or comments of the rarer kinds, whose end DuckDB's parser may see elsewhere.
    """
    statements: list[str] = []
    parts: list[str] = []
    for found in _PART.finditer(text):
        kind = found.lastgroup
        if kind == "odd" or (kind == "string" and parts and _PREFIXED.search(parts[-1][-3:])):
            raise Odd(found[0][:10])
        if kind == "end":
            statements.append("".join(parts))
            parts.clear()
        else:
            parts.append("''" if kind == "string" else " " if kind == "comment" else found[0])
    statements.append("".join(parts))
    return [each.strip().lower() for each in statements if each.strip()]
