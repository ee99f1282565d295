"""How deep the texts of a server's clients may be nested.

DuckDB's parser holds up all clients, and nothing interrupts it: it is never given a text on which it works
for minutes.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial

from relserve.errors import ComplexSqlError, ProtocolError
from relserve.server.users.chains import check_chains
from relserve.server.users.long_texts import LONG, Odd, statements_of_long
from relserve.text2sql.guard.brackets import (
    OPENING,
    TooDeepError,
    UnmatchedError,
    check_brackets,
    check_words,
)

DEEPEST = 250  # a mistake inside them takes DuckDB's parser half a second
FEW = 4  # so many brackets never take it long; what is wrong with them it says itself
_WORDS = re.compile(r'"[^"]*+"|\bwith\b|[()\[\]{}]')


def check_nesting(text: str) -> None:
    """Refuse a text on which DuckDB's parser would work for long, or end, before anything reads it.

    Raises:
        ComplexSqlError: it is nested too deep.
        ProtocolError: its brackets do not match.
    """
    check_chains(text, partial(_parts, text))
    if sum([text.count(bracket) for bracket in OPENING]) <= FEW:
        return
    try:
        if len(text) > LONG:
            _check_long(text)
        else:
            check_brackets(text, DEEPEST)
    except TooDeepError as error:
        raise ComplexSqlError(
            f"a statement {error}: put inner queries into views or temporary tables"
        ) from None
    except UnmatchedError as error:
        raise ProtocolError(f"syntax error: the statement {error}", "42601") from None


def _parts(text: str) -> list[tuple[str, bool]]:
    """A text, or the statements of a long one, and whether comments and what is in strings are left out."""
    if len(text) > LONG:
        with suppress(Odd):
            return [(statement, True) for statement in statements_of_long(text)]
    return [(text, False)]


def _check_long(text: str) -> None:
    """See `check_nesting`; DuckDB's tokenizer would hold up all clients, too."""
    try:
        statements = statements_of_long(text)
    except Odd:
        check_brackets(text, DEEPEST)
        return
    for statement in statements:
        check_words(_WORDS.findall(statement), DEEPEST)
