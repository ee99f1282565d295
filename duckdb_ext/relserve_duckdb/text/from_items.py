"""The items of the FROM clauses of a text, found by its tokens: tables, table functions, subqueries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import TokenType

from relserve_duckdb.text.tokens import CLOSING, OPENING, Tokens

_BEGINNING = (TokenType.FROM, TokenType.JOIN, TokenType.USING)
_ENDING = frozenset(
    (
        TokenType.SELECT, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING, TokenType.WINDOW,
        TokenType.QUALIFY, TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET, TokenType.UNION,
        TokenType.INTERSECT, TokenType.EXCEPT, TokenType.SET, TokenType.VALUES, TokenType.RETURNING,
        TokenType.SEMICOLON,
    )
)  # fmt: skip


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
