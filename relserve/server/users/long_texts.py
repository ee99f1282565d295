"""Long SQL texts, read in Python, which gives other threads a turn every few milliseconds.

DuckDB's tokenizer and parser hold all of them up, for a second a megabyte.
"""

from __future__ import annotations

import re
from functools import lru_cache

from duckdb import StatementType as Type

from relserve.server.users.refused import VIEWS, is_suspect

LONG = 200_000  # characters: DuckDB's parser holds up all clients for 0.2 s

_MOST_REMEMBERED = 1 << 20  # characters: longer ones would be held in memory after their statement

_KINDS = {
    "select": Type.SELECT, "from": Type.SELECT, "values": Type.SELECT, "(": Type.SELECT, "with": Type.SELECT,
    "insert": Type.INSERT, "update": Type.UPDATE, "delete": Type.DELETE,
}  # fmt: skip
_PIVOTS = frozenset(["pivot", "unpivot", "pivot_wider", "pivot_longer"])
_WRITES = frozenset(["insert", "update", "delete", "merge"])
_WORD = re.compile(r"\w+")
_NO_NUMBER = re.compile(r"\b(?!\d++\b)\w+")  # of a parameter's number there may be thousands
# What a long text is cut at. Quotes that stand for themselves make two strings of one, which is no matter.
# Outside of quotes and comments only ASCII is read, and of $ only parameters: all else may be a blank, or
# begin a string.
_PART = re.compile(
    r"""(?P<plain>[\t-\r !#%&(-,.0-:<-Z\[-_a-z{|}~]{1,65536}+) | (?P<string>'[^']*+') | (?P<name>"[^"]*+")
    | (?P<comment>--[^\r\n]*+) | (?P<end>;) | (?P<other>\$(?=\d) | /(?!\*) | -)
    | (?P<odd>/\* | \$\w*\$? | .)""",
    re.X | re.S,
)
_PREFIXED = re.compile(r"[\w&]$")  # what stands before a string may say how to read it, as e does
_NUMBER = re.compile(r"[0-9_]+(?:e[0-9]*)?")


class Odd(ValueError):
    """A text holds what only DuckDB's own parser is trusted to read; the message is that."""


def kinds_of_long(text: str) -> list[Type]:
    """What the statements of a long text are.

    Raises:
        Odd: one is none of the plain ones, or holds what DuckDB may read otherwise, or what is suspect.
    """
    return [_kind(statement) for statement in statements_of_long(text)]


def statements_of_long(text: str) -> list[str]:
    """The statements in lower case, each without its comments and with '' for every string.

    Raises:
        Odd: the text holds what DuckDB may read otherwise.
    """
    return list(_remembered(text) if len(text) <= _MOST_REMEMBERED else _statements(text))


@lru_cache(maxsize=2)
def _remembered(text: str) -> list[str]:
    """Several checks of one statement read the same text, one after the other."""
    return _statements(text)


def _statements(text: str) -> list[str]:
    statements: list[str] = []
    parts: list[str] = []
    for found in _PART.finditer(text):
        kind = found.lastgroup
        if kind == "odd" or (kind == "string" and _is_odd(found[0], parts[-1] if parts else "")):
            raise Odd(found[0][:10])
        if kind == "end":
            statements.append("".join(parts))
            parts.clear()
        else:
            parts.append("''" if kind == "string" else " " if kind == "comment" else found[0])
    statements.append("".join(parts))
    return [each.strip().lower() for each in statements if each.strip()]


def _is_odd(string: str, before: str) -> bool:
    """Whether a string may be none, or the name of what is not to be read."""
    return _PREFIXED.search(before[-1:]) is not None or string[1:-1].lower() in VIEWS


def _kind(statement: str) -> Type:
    if statement.startswith("("):
        first, suspects = "(", _PIVOTS
    else:
        found = _WORD.match(statement)
        first = found[0] if found else statement[:1]
        suspects = _PIVOTS | _WRITES if first == "with" else _PIVOTS
    if first not in _KINDS or re.match(r"update\s+extensions\b", statement):
        raise Odd(first.upper())
    for word in dict.fromkeys(_NO_NUMBER.findall(statement)):
        is_cut = word[0].isdigit() and not _NUMBER.fullmatch(word)  # 1copy is two words to DuckDB
        if is_cut or word in suspects or is_suspect(word):
            raise Odd(word.upper())
    return _KINDS[first]
