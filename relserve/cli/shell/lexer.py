"""DuckDB's SQL as tokens, of a text that need not be whole: what is being typed ends where it ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto
from typing import NamedTuple

from relserve_duckdb.text.lexical import ESCAPED, LINE_COMMENT, NAME, STRING


class TokenKind(Enum):
    """What a token is; an `open` one lacks its end: a string, a quoted name or a comment."""

    blank = auto()  # white space or a comment
    word = auto()  # a keyword, name or number
    quoted = auto()  # "a name"
    string = auto()
    symbol = auto()
    open = auto()


class ShellToken(NamedTuple):
    """A piece of a text, from `start` to `end` in it."""

    kind: TokenKind
    text: str
    start: int

    @property
    def end(self) -> int:
        """Where the next token begins."""
        return self.start + len(self.text)

    @property
    def name(self) -> str:
        """The name that a word or a quoted name stands for."""
        return self.text[1:-1].replace('""', '"') if self.kind is TokenKind.quoted else self.text


_TOKEN = re.compile(
    rf"""(?P<blank>\s++|{LINE_COMMENT})
    |(?P<string>{ESCAPED}|{STRING}|(?P<tag>\$(?:[^\W\d]\w*+)?+\$).*?(?P=tag))
    |(?P<quoted>{NAME})
    |(?P<comment>/\*)
    |(?P<open>[eE]?'|"|\$(?:[^\W\d]\w*+)?+\$)
    |(?P<word>\w[\w$]*+)
    |(?P<symbol>:=|::|.)""",
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")


def tokens(text: str, start: int = 0) -> Iterator[ShellToken]:
    """The tokens from `start` on; an open one is the last and reaches to the end of the text."""
    while start < len(text):
        match = _TOKEN.match(text, start)
        assert match is not None  # `symbol` takes any character
        group, end = str(match.lastgroup), match.end()
        if group == "comment":
            group, end = _comment(text, start)
        if group == "open":
            yield ShellToken(TokenKind.open, text[start:], start)
            return
        yield ShellToken(TokenKind[group], text[start:end], start)
        start = end


def _comment(text: str, start: int) -> tuple[str, int]:
    """The kind and the end of a comment; those inside it count, as in DuckDB."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, start):
        depth += 1 if edge[0] == "/*" else -1
        if depth == 0:
            return "blank", edge.end()
    return "open", len(text)
