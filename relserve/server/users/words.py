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
