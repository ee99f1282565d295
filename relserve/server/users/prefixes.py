"""How many signs stand before what they are about, as in `@ @ @ x`.

DuckDB counts how deep an expression is, but for these: 10,000 of them end the process that plans it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise

import duckdb
from duckdb import token_type as Kind

from relserve.errors import ComplexSqlError
from relserve.server.users.tree import parser

MOST = 1000  # DuckDB's own limit for what it counts
_SIGNS = "!%&*/<=>@^|~"
_COUNTED = frozenset(["+", "-", "*", "~"])  # by DuckDB, and what stands before numbers
_SIGN = re.compile(rf"[-+?#`{re.escape(_SIGNS)}]++")
_WORD = re.compile(rf"""\w++|'|"[^"]*+"|{_SIGN.pattern}|[^\w\s]""")
_BEGINS = frozenset("([{,;:")
_RESERVED = "SELECT keyword_name FROM system.main.duckdb_keywords() WHERE keyword_category <> 'unreserved'"


def may_have_many(text: str) -> bool:
    """Whether a text may have more such signs than are let through; its strings are counted, too."""
    return sum(map(text.count, _SIGNS)) > MOST


def check_prefixes(text: str, is_stripped: bool = False) -> None:
    """Refuse a text with too many signs before something.

    Args:
        is_stripped: whether it has no comments, and nothing in its strings.

    Raises:
        ComplexSqlError: it has.
    """
    words = _WORD.findall(text) if is_stripped else _words(text)
    if sum(_prefixes(words)) > MOST:
        raise ComplexSqlError(
            f"a statement may have {MOST:,} signs before what they are about, as in @x, and this has more"
        )


def _prefixes(words: Iterable[str]) -> Iterator[bool]:
    begins = _begin_words()
    for before, word in pairwise(["", *words]):
        is_sign = word not in _COUNTED and _SIGN.fullmatch(word) is not None
        yield is_sign and (
            not before or before in _BEGINS or before in begins or _SIGN.fullmatch(before) is not None
        )


def _words(text: str) -> Iterator[str]:
    """The words in small letters as DuckDB's tokenizer cuts a text; strings and quoted names are a quote."""
    data = text.encode()
    for (start, kind), (end, _) in pairwise([*duckdb.tokenize(text), (len(data), Kind.comment)]):
        if kind == Kind.string_const:
            yield "'"
        elif kind != Kind.comment:
            word = data[start:end].decode(errors="replace").strip()
            yield word.lower() if word[:1] != '"' else '"'


@lru_cache(maxsize=1)
def _begin_words() -> frozenset[str]:
    """Keywords, behind which an expression may begin; no name is among them."""
    words = frozenset(name for (name,) in parser().execute(_RESERVED).fetchall())
    return words - {"null", "true", "false", "end", "default"}
