"""text2sql() calls in the FROM clauses of a text, found by its tokens.

Tokens, not a tree: a call is found in whatever statement it stands, never in a text in quotes or a comment,
and where it begins and ends is known.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from sqlglot import TokenType
from sqlglot.errors import SqlglotError

from relserve.errors import UsageError
from relserve_duckdb.text.tokens import CLOSING, OPENING, Tokens, argument_name, arguments, closing, tokens_of

log = logging.getLogger(__name__)

TEXT2SQL = "text2sql"
QUESTION = "question"
# what can follow a call that has no alias
_NO_ALIAS = frozenset(
    (
        TokenType.R_PAREN, TokenType.COMMA, TokenType.SEMICOLON, TokenType.WHERE, TokenType.GROUP_BY,
        TokenType.HAVING, TokenType.WINDOW, TokenType.QUALIFY, TokenType.ORDER_BY, TokenType.LIMIT,
        TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT, TokenType.SELECT, TokenType.ON,
        TokenType.USING, TokenType.JOIN, TokenType.INNER, TokenType.LEFT, TokenType.RIGHT, TokenType.FULL,
        TokenType.CROSS, TokenType.NATURAL, TokenType.ASOF, TokenType.SEMI, TokenType.ANTI, TokenType.SET,
        TokenType.RETURNING,
    )
)  # fmt: skip
_BEGINNING = (TokenType.FROM, TokenType.JOIN, TokenType.USING)
_ENDING = frozenset(
    (
        TokenType.SELECT, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.WINDOW,
        TokenType.QUALIFY, TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET, TokenType.UNION,
        TokenType.INTERSECT, TokenType.EXCEPT, TokenType.SET, TokenType.VALUES, TokenType.RETURNING,
        TokenType.SEMICOLON,
    )
)  # fmt: skip


class QuestionCall(NamedTuple):
    """One call.

    Attributes:
        start, end: where it stands in the text.
        arguments: the texts of the expressions that it is given, by name.
        has_alias: whether the statement gives its rows a name.
    """

    start: int
    end: int
    arguments: dict[str, str]
    has_alias: bool


def find_question_calls(written: str) -> tuple[QuestionCall, ...]:
    """The calls of a statement, in its order.

    Raises:
        UsageError: a call is not given one question and named options.
    """
    if TEXT2SQL not in written.lower():
        return ()
    try:
        tokens = tokens_of(written)
    except SqlglotError as error:
        log.debug("sqlglot cannot read %r: %s", written[:200], error)
        return ()
    return tuple(_read(written, tokens, i) for i in from_items(tokens) if _is_call(tokens, i))


def _is_call(tokens: Tokens, i: int) -> bool:
    is_name = tokens[i].token_type in (TokenType.VAR, TokenType.IDENTIFIER)
    opens = i + 1 < len(tokens) and tokens[i + 1].token_type is TokenType.L_PAREN
    return is_name and opens and tokens[i].text.lower() == TEXT2SQL


def _read(written: str, tokens: Tokens, name: int) -> QuestionCall:
    end = closing(tokens, name + 1)
    given: dict[str, str] = {}
    for span in arguments(tokens, name + 2, end):
        key = argument_name(tokens, span)
        first = span.first if key is None else span.first + 2
        key = key or QUESTION
        if key in given:
            raise UsageError(f"text2sql() takes one question and options by name; {key} is given twice")
        given[key] = written[tokens[first].start : tokens[span.last].end + 1]
    if QUESTION not in given:
        raise UsageError("text2sql() needs a question: FROM text2sql('How many rows has ..?')")
    has_alias = end + 1 < len(tokens) and tokens[end + 1].token_type not in _NO_ALIAS
    return QuestionCall(tokens[name].start, tokens[end].end + 1, given, has_alias)


@dataclass
class _Brackets:
    """What is inside one pair of brackets, or outside of all.

    Attributes:
        in_from: a comma begins another item.
        begins: the next token begins one.
    """

    in_from: bool = False
    begins: bool = False


def from_items(tokens: Tokens) -> Iterator[int]:
    """The first token of each item, by its number."""
    nested = [_Brackets()]
    for i, token in enumerate(tokens):
        kind, inside = token.token_type, nested[-1]
        begins, inside.begins = inside.begins, False
        if begins and kind is TokenType.LATERAL:
            inside.begins = True
        elif begins:
            yield i
        if kind in OPENING:
            nested.append(_Brackets(begins, begins))
        elif kind in CLOSING and len(nested) > 1:
            nested.pop()
        elif kind in _BEGINNING and not _is_within_item(tokens, i):
            inside.in_from = inside.begins = True
        elif kind in _ENDING:
            inside.in_from = False
        elif kind is TokenType.COMMA:
            inside.begins = inside.in_from


def _is_within_item(tokens: Tokens, i: int) -> bool:
    """Whether a word is a column's name, as in `t.from`, or the FROM of `a IS [NOT] DISTINCT FROM b`."""
    before = tokens[i - 1].token_type if i else None
    return before in (TokenType.DOT, TokenType.DISTINCT)
