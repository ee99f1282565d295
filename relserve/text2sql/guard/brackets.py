"""How a text is nested, seen before DuckDB's parser reads it.

Nothing interrupts that parser, and its time doubles and more with each bracket that is never closed, and with
each WITH in another one: `WITH a AS (WITH a AS (` ten times over takes it minutes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import duckdb
from duckdb import token_type as Kind

DEEPEST, MOST_WITH = 100, 4
OPENING = frozenset("([{")
_CLOSING = {")": "(", "]": "[", "}": "{"}


class TooDeepError(ValueError):
    """Brackets, or WITH in WITH, are nested too deep; the message says which, after the text's name."""


class UnmatchedError(ValueError):
    """A bracket closes nothing or is never closed, or half a character stands alone; the message says which,
    after the text's name."""


def check_brackets(sql: str, deepest: int = DEEPEST) -> None:
    """Refuse a text whose brackets do not match, or that is nested too deep.

    Raises:
        TooDeepError, UnmatchedError: it is so.
    """
    check_words(_words(sql), deepest)


def check_words(words: Iterable[str], deepest: int = DEEPEST) -> None:
    """See `check_brackets`.

    Args:
        words: the brackets of a text and at least those of its words that are WITH, in lower case.
    """
    opened, has_with = [""], [False]  # at each level, what opened it, and whether a WITH stands in it
    for word in words:
        if word in OPENING:
            opened.append(word)
            has_with.append(False)
            if len(opened) > deepest:
                raise TooDeepError(f"may have brackets {deepest} deep, and this has deeper ones")
        elif word in _CLOSING:
            if opened.pop() != _CLOSING[word]:
                raise UnmatchedError(f"has a {word!r} that closes nothing")
            has_with.pop()
        elif word == "with":
            has_with[-1] = True
            if sum(has_with) > MOST_WITH:
                raise TooDeepError(f"may have WITH in WITH {MOST_WITH} deep, and this has more")
    if len(opened) > 1:
        raise UnmatchedError(f"has a {opened[-1]!r} that is never closed")


def _words(sql: str) -> Iterator[str]:
    """The brackets and the unquoted words, in lower case, as DuckDB's tokenizer sees them."""
    try:
        data = sql.encode()
    except UnicodeEncodeError as error:
        raise UnmatchedError(f"holds half a character ({error.reason})") from None
    ends = [*duckdb.tokenize(sql), (len(data), Kind.comment)]
    for (start, kind), (end, _) in pairwise(ends):
        if kind in (Kind.comment, Kind.string_const) or data[start : start + 1] == b'"':
            continue
        word = data[start:end].decode(errors="replace").strip().lower()
        yield from (char for char in word if char in "()[]{}") if not word.isidentifier() else (word,)
