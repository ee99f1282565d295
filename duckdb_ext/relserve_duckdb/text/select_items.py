"""The items of the SELECT lists of a text, found by its tokens."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import TokenType

from relserve_duckdb.text.tokens import CLOSING, OPENING, Tokens, TokenSpan, closing

_ENDING = frozenset(
    (
        TokenType.FROM, TokenType.INTO, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING,
        TokenType.WINDOW, TokenType.QUALIFY, TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET,
        TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT, TokenType.USING, TokenType.SEMICOLON,
    )
)  # fmt: skip


def select_items(tokens: Tokens) -> Iterator[TokenSpan]:
    """The items, an inner SELECT's before the one that it stands in."""
    nested: list[int | None] = [None]  # in each pair of brackets, the first token of the item that is open
    for i, token in enumerate(tokens):
        kind, first = token.token_type, nested[-1]
        if kind in OPENING:
            nested.append(None)
            continue
        ends = kind in CLOSING or (kind in _ENDING and not _is_within_item(tokens, i))
        if first is not None and first < i and (ends or kind is TokenType.COMMA):
            yield TokenSpan(first, i - 1)
            nested[-1] = None if ends else i + 1
        if kind is TokenType.SELECT:
            nested[-1] = _first_item(tokens, i + 1)
        if kind in CLOSING and len(nested) > 1:
            nested.pop()
    if nested[0] is not None and nested[0] < len(tokens):
        yield TokenSpan(nested[0], len(tokens) - 1)


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
