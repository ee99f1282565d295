"""The items of the SELECT lists of a text, found by its tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import TokenType

from relserve_duckdb.text.tokens import CLOSING, OPENING, Tokens, TokenSpan, closing

_ENDING = frozenset(
    (
        TokenType.FROM, TokenType.INTO, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING,
        TokenType.WINDOW, TokenType.QUALIFY, TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET,
        TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT, TokenType.USING, TokenType.SEMICOLON,
    )
)  # fmt: skip


@dataclass
class _Brackets:
    """What is inside one pair of brackets, or outside of all."""

    item: int | None = None  # the first token of the item that is open


def select_items(tokens: Tokens) -> Iterator[TokenSpan]:
    """The items, an inner SELECT's before the one that it stands in."""
    nested = [_Brackets()]
    for i, token in enumerate(tokens):
        kind, inside = token.token_type, nested[-1]
        if kind in OPENING:
            nested.append(_Brackets())
            continue
        ends = kind in CLOSING or (kind in _ENDING and not _is_within_item(tokens, i))
        if inside.item is not None and inside.item < i and (ends or kind is TokenType.COMMA):
            yield TokenSpan(inside.item, i - 1)
            inside.item = None if ends else i + 1
        if kind is TokenType.SELECT:
            inside.item = _first_item(tokens, i + 1)
        if kind in CLOSING and len(nested) > 1:
            nested.pop()
    if nested[0].item is not None and nested[0].item < len(tokens):
        yield TokenSpan(nested[0].item, len(tokens) - 1)


def _first_item(tokens: Tokens, i: int) -> int:
    """The first token behind SELECT, or behind DISTINCT [ON (..)] or ALL."""
    if i < len(tokens) and tokens[i].token_type is TokenType.ALL:
        return i + 1
    if i < len(tokens) and tokens[i].token_type is TokenType.DISTINCT:
        has_on = i + 2 < len(tokens) and tokens[i + 1].token_type is TokenType.ON
        return closing(tokens, i + 2) + 1 if has_on else i + 1
    return i


def _is_within_item(tokens: Tokens, i: int) -> bool:
    """Whether a word is a name, as in `t.limit AS offset`, or the FROM of `a IS [NOT] DISTINCT FROM b`."""
    before = tokens[i - 1].token_type if i else None
    if before is TokenType.DISTINCT:
        return tokens[i].token_type is TokenType.FROM
    return before in (TokenType.DOT, TokenType.ALIAS)
