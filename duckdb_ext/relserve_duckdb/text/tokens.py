"""The tokens of a statement, and the brackets and arguments among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import ClassVar, NamedTuple

from sqlglot import Token, TokenType
from sqlglot.dialects.duckdb import DuckDB

from relserve_duckdb.text.parameters import masked

Tokens = Sequence[Token]
OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
_NAMED = (TokenType.COLON_EQ, TokenType.FARROW)


class _Tokenizer(DuckDB.Tokenizer):
    """Reads the text behind EXPLAIN or PREPARE too; sqlglot's own leaves it whole."""

    COMMANDS: ClassVar[set[TokenType]] = set()


class TokenSpan(NamedTuple):
    """Tokens from the first to the last, by their numbers."""

    first: int
    last: int


def tokens_of(text: str) -> Tokens:
    """The tokens of a statement; a parameter `$1` is the name `_1`.

    Raises:
        sqlglot.errors.SqlglotError: sqlglot cannot read it.
    """
    return list(_Tokenizer(DuckDB()).tokenize(masked(text)))


def function_names(tokens: Tokens) -> list[str]:
    """The names before brackets, in small letters; that of a table before its columns, too."""
    pairs = pairwise(tokens)
    return [name.text.lower() for name, after in pairs if after.token_type is TokenType.L_PAREN]


def closing(tokens: Tokens, opening: int) -> int:
    """The number of the token that closes a bracket; DuckDB has parsed the text, so there is one."""
    depth = 0
    for i in range(opening, len(tokens)):
        depth += (tokens[i].token_type in OPENING) - (tokens[i].token_type in CLOSING)
        if depth == 0:
            return i
    return len(tokens) - 1


def arguments(tokens: Tokens, first: int, end: int) -> Iterator[TokenSpan]:
    """What stands between commas."""
    for i in [i for i in outside_brackets(tokens, first, end) if tokens[i].token_type is TokenType.COMMA]:
        yield TokenSpan(first, i - 1)
        first = i + 1
    if first < end:
        yield TokenSpan(first, end - 1)


def outside_brackets(tokens: Tokens, first: int, end: int) -> Iterator[int]:
    depth = 0
    for i in range(first, end):
        depth += (tokens[i].token_type in OPENING) - (tokens[i].token_type in CLOSING)
        if depth == 0:
            yield i


def argument_name(tokens: Tokens, argument: TokenSpan) -> str | None:
    """The name of `name := value`, None for a value alone."""
    is_named = argument.first + 1 < argument.last and tokens[argument.first + 1].token_type in _NAMED
    return tokens[argument.first].text.lower() if is_named else None
