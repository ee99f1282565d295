"""How a text is nested, seen before DuckDB's parser reads it.

Nothing interrupts that parser, and its time doubles and more with each bracket that is never closed, and with
each WITH in another one: `WITH a AS (WITH a AS (` ten times over takes it minutes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import duckdb
from duckdb import token_type as Kind

from relserve.errors import UnsafeSqlError

DEEPEST, MOST_WITH = 100, 4
_CLOSING = {")": "(", "]": "[", "}": "{"}


def check_brackets(sql: str) -> None:
    """Refuse a text whose brackets do not match, or that is nested too deep.

    Raises:
        UnsafeSqlError: says which.
    """
    opened, has_with = [""], [False]  # at each level, what opened it, and whether a WITH stands in it
    for word in _words(sql):
        if word in _CLOSING.values():
            opened.append(word)
            has_with.append(False)
        elif word in _CLOSING:
            if opened.pop() != _CLOSING[word]:
                raise UnsafeSqlError(f"in generated SQL a {word!r} closes nothing")
            has_with.pop()
        elif word == "with":
            has_with[-1] = True
        if len(opened) > DEEPEST:
            raise UnsafeSqlError(f"generated SQL may be nested {DEEPEST} deep, and this is deeper")
        if sum(has_with) > MOST_WITH:
            raise UnsafeSqlError(f"generated SQL may have WITH in WITH {MOST_WITH} deep, and this has more")
    if len(opened) > 1:
        raise UnsafeSqlError(f"in generated SQL a {opened[-1]!r} is never closed")


def _words(sql: str) -> Iterator[str]:
    """The brackets and the unquoted words, in lower case, as DuckDB's tokenizer sees them."""
    try:
        data = sql.encode()
    except UnicodeEncodeError as error:
        raise UnsafeSqlError(f"generated SQL holds half a character: {error.reason}") from None
    ends = [*duckdb.tokenize(sql), (len(data), Kind.comment)]
    for (start, kind), (end, _) in pairwise(ends):
        if kind in (Kind.comment, Kind.string_const) or data[start : start + 1] == b'"':
            continue
        word = data[start:end].decode(errors="replace").strip().lower()
        yield from (char for char in word if char in "()[]{}") if not word.isidentifier() else (word,)
