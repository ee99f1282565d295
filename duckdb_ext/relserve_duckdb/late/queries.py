"""The queries in a statement that keep some of their rows only: those with a LIMIT or DISTINCT ON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import TokenType

from relserve_duckdb.text.tokens import CLOSING, OPENING, Tokens, closing, outside_brackets

_BEGINNING = (TokenType.SELECT, TokenType.FROM, TokenType.WITH)
_NAMING = (TokenType.DOT, TokenType.ALIAS)  # after these a word is a name, as in `t.limit AS offset`


@dataclass
class _Brackets:
    """What is inside one pair of brackets, or outside of all."""

    first: int
    keeps_some: bool = False


def limited_queries(tokens: Tokens) -> list[tuple[int, int]]:
    """The first and last token of each such query with its WITH, an outer one before those in it."""
    found = []
    nested = [_Brackets(beginning(tokens))]
    for i, token in enumerate(tokens):
        kind = token.token_type
        if kind in OPENING:
            nested.append(_Brackets(i + 1))
        elif kind in CLOSING and len(nested) > 1:
            inner = nested.pop()
            if inner.keeps_some and tokens[inner.first].token_type in _BEGINNING:
                found.append((inner.first, i - 1))
        elif kind is TokenType.LIMIT or _is_distinct_on(tokens, i):
            named = i > 0 and tokens[i - 1].token_type in _NAMING
            nested[-1].keeps_some |= not named
    if nested[0].keeps_some:
        found.append((nested[0].first, last_token(tokens)))
    return sorted(found)


def beginning(tokens: Tokens) -> int:
    """The first token of the query that a statement is or that stands in it outside brackets."""
    if tokens[0].token_type is TokenType.L_PAREN:
        return 0
    outside = outside_brackets(tokens, 0, len(tokens))
    return next((i for i in outside if tokens[i].token_type in _BEGINNING), 0)


def last_token(tokens: Tokens) -> int:
    """The last token of a statement but its semicolon."""
    last = len(tokens) - 1
    while last > 0 and tokens[last].token_type is TokenType.SEMICOLON:
        last -= 1
    return last


def ctes_before(text: str, tokens: Tokens, first: int) -> str:
    """The WITH of a statement as far as a query that begins inside the statement may use it; "" for none."""
    start = beginning(tokens)
    if tokens[start].token_type is not TokenType.WITH or first <= start:
        return ""
    bodies = list(_cte_bodies(tokens, start))
    before = [(opened, closed) for opened, closed in bodies if closed < first]
    if not before:
        return ""
    return text[tokens[start].start : tokens[before[-1][1]].end + 1]


def _cte_bodies(tokens: Tokens, start: int) -> Iterator[tuple[int, int]]:
    """The brackets of each query of the WITH at a token."""
    i = start + 1
    while i < len(tokens):
        while i < len(tokens) and tokens[i].token_type is not TokenType.ALIAS:
            i = closing(tokens, i) + 1 if tokens[i].token_type in OPENING else i + 1
        while i < len(tokens) and tokens[i].token_type is not TokenType.L_PAREN:
            i += 1
        if i >= len(tokens):
            return
        end = closing(tokens, i)
        yield i, end
        if end + 1 >= len(tokens) or tokens[end + 1].token_type is not TokenType.COMMA:
            return
        i = end + 1


def _is_distinct_on(tokens: Tokens, i: int) -> bool:
    kinds = [token.token_type for token in tokens[i : i + 2]]
    return kinds == [TokenType.DISTINCT, TokenType.ON]
