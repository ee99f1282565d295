"""CREATE MACRO, told by its tokens: whether a text is one, and whether the macro takes parameters."""

from __future__ import annotations

from sqlglot import TokenType

from relserve_duckdb.text.tokens import Tokens, closing, outside_brackets, tokens_of

_BETWEEN = frozenset(["or", "replace", "temp", "temporary"])  # CREATE and MACRO
_QUERIES = frozenset(["select", "from", "with", "values", "(", "pivot", "unpivot", "table"])


def makes_macro(text: str) -> bool:
    """Whether a statement is CREATE MACRO or CREATE FUNCTION."""
    words = [token.text.lower() for token in tokens_of(text)[:5]]
    kinds = [word for word in words[1:] if word not in _BETWEEN]
    return words[:1] == ["create"] and kinds[:1] in (["macro"], ["function"])


def has_parameters(text: str) -> bool:
    """Whether a CREATE MACRO names a parameter, in any of its forms: `m() AS .., (a) AS ..`."""
    tokens = tokens_of(text)
    first = next(i for i, token in enumerate(tokens) if token.token_type is TokenType.L_PAREN)
    commas = (i for i in outside_brackets(tokens, 0, len(tokens)) if tokens[i].token_type is TokenType.COMMA)
    return any(_names_parameters(tokens, i) for i in (first, *(comma + 1 for comma in commas)))


def _names_parameters(tokens: Tokens, i: int) -> bool:
    """Whether brackets that hold names open here, and what they are for follows AS."""
    if i >= len(tokens) or tokens[i].token_type is not TokenType.L_PAREN:
        return False
    end = closing(tokens, i)
    follows = end + 1 < len(tokens) and tokens[end + 1].token_type is TokenType.ALIAS
    return follows and end > i + 1 and tokens[i + 1].text.lower() not in _QUERIES
