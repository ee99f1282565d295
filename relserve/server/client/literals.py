"""Literals in a statement's text, and those that are cast to numeric.

PostgreSQL keeps all digits of these, and DuckDB's DECIMAL three.
"""

from __future__ import annotations

import re

from relserve_duckdb.text.lexical import COMMENT, DOLLARS, ESCAPED, LINE_COMMENT, NAME, OPEN_COMMENT, STRING

BETWEEN = rf"{NAME}|{DOLLARS}|{LINE_COMMENT}|{COMMENT}|{OPEN_COMMENT}"  # in which a literal may seem to be
CAST = re.compile(r"(?is)(?<!\w)cast\s*+\(\s*+\Z")  # in what stands before a literal
_NEAR = 60  # characters before a literal that say what it is
_DIGITS, _PRECISION, _SCALE = 38, 18, 3  # most that a DECIMAL has, and what DuckDB's has without a word
_TOKENS = re.compile(
    rf"(?s)(?<![\w$]){ESCAPED}|(?P<text>{STRING})|{BETWEEN}"
    r"|(?<![\w.$])(?P<number>\d++(?:\.\d*+)?+|\.\d++)(?![\w.])"
)
_NUMBER = re.compile(r"\s*+[+-]?+0*+(\d*+)(?:\.(\d*+))?+\s*+")
_WIDE = r"(?:numeric|decimal|dec)\b(?!\s*+[(\[])"
_TO = re.compile(rf"(?i)\s*+::\s*+{_WIDE}")
_CAST_TO = re.compile(rf"(?i)\s++as\s++{_WIDE}(?=\s*+\))")
_BEFORE = re.compile(r"(?i)\b(?:numeric|decimal|dec)\b")


def before(text: str, start: int) -> str:
    """The end of what stands before a literal; not all of it, which for each of many would take long."""
    return text[max(0, start - _NEAR) : start]


def with_digits_of_numerics(text: str) -> str:
    """The text with a DECIMAL of its own digits for each literal that is cast to numeric without a width."""
    lower = text.lower()  # a pattern alone would hold up other clients over 100 MB
    if not ("numeric" in lower or "dec" in lower) or not _BEFORE.search(text):
        return text
    parts, done = [], 0
    for token in _TOKENS.finditer(text):
        held = token["number"] or (token["text"] or "''")[1:-1]
        width = _width(held)
        to = width and _cast(text, token)
        if to:
            sign = " AS " if to[0].lstrip()[:1] != ":" else "::"
            parts += [text[done : token.end()], sign, width]
            done = to.end()
    return "".join([*parts, text[done:]])


def _cast(text: str, token: re.Match[str]) -> re.Match[str] | None:
    if to := _TO.match(text, token.end()):
        return to
    return _CAST_TO.match(text, token.end()) if CAST.search(before(text, token.start())) else None


def _width(held: str) -> str:
    """The DECIMAL that holds a number's digits, at least DuckDB's own; empty: there is none."""
    found = _NUMBER.fullmatch(held)
    if found is None or not any(each.isdigit() for each in held):
        return ""
    digits, scale = len(found[1]), len(found[2] or "")
    wide = max(scale, _SCALE)
    scale = wide if digits + wide <= _DIGITS else scale
    return f"DECIMAL({max(_PRECISION, digits + scale)},{scale})" if digits + scale <= _DIGITS else ""
