"""Long SQL texts, read in Python, which gives other threads a turn every few milliseconds.

DuckDB's tokenizer and parser hold all of them up, for a second a megabyte.
"""

from __future__ import annotations

import re

from duckdb import StatementType as Type

from relserve.server.users.refused import is_suspect

LONG = 200_000  # characters: DuckDB's parser holds up all clients for 0.2 s

_KINDS = {
    "select": Type.SELECT, "from": Type.SELECT, "values": Type.SELECT, "(": Type.SELECT, "with": Type.SELECT,
    "insert": Type.INSERT, "update": Type.UPDATE, "delete": Type.DELETE,
}  # fmt: skip
_PIVOTS = frozenset(["pivot", "unpivot", "pivot_wider", "pivot_longer"])
_WRITES = frozenset(["insert", "update", "delete", "merge"])
_WORD = re.compile(r"\w+")
# What a long text is cut at. Quotes that stand for themselves make two strings of one, which is no matter.
_PART = re.compile(
    r"""(?P<plain>[^'"`;$/-]{1,65536}+) | (?P<string>'[^']*+') | (?P<name>"[^"]*+") | (?P<comment>--[^\r\n]*+)
    | (?P<end>;) | (?P<odd>['"`] | /\* | \$\w*\$) | (?P<other>[$/-])""",
    re.X,
)
_PREFIXED = re.compile(r"(?:^|\W)(?:[eE]|[uU]&)$")


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
    statements: list[str] = []
    parts: list[str] = []
    for found in _PART.finditer(text):
        kind = found.lastgroup
        if kind == "odd" or (kind == "string" and parts and _PREFIXED.search(parts[-1][-3:])):
            raise Odd(found[0][:10])
        if kind == "end":
            statements.append("".join(parts))
            parts.clear()
        else:
            parts.append("''" if kind == "string" else " " if kind == "comment" else found[0])
    statements.append("".join(parts))
    return [each.strip().lower() for each in statements if each.strip()]


def _kind(statement: str) -> Type:
    if statement.startswith("("):
        first, suspects = "(", _PIVOTS
    else:
        found = _WORD.match(statement)
        first = found[0] if found else statement[:1]
        suspects = _PIVOTS | _WRITES if first == "with" else _PIVOTS
    if first not in _KINDS or re.match(r"update\s+extensions\b", statement):
        raise Odd(first.upper())
    for each in _WORD.finditer(statement):
        if each[0] in suspects or is_suspect(each[0]):
            raise Odd(each[0].upper())
    return _KINDS[first]
