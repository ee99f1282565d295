"""Literals in a statement's text: what stands between them, and whether one stands in a CAST."""

from __future__ import annotations

import re

from relserve_duckdb.text.lexical import COMMENT, DOLLARS, LINE_COMMENT, NAME, OPEN_COMMENT

BETWEEN = rf"{NAME}|{DOLLARS}|{LINE_COMMENT}|{COMMENT}|{OPEN_COMMENT}"  # in which a literal may seem to be
CAST = re.compile(r"(?is)(?<!\w)cast\s*+\(\s*+\Z")  # in what stands before a literal
_NEAR = 60  # characters before a literal that say what it is


def before(text: str, start: int) -> str:
    """The end of what stands before a literal; not all of it, which for each of many would take long."""
    return text[max(0, start - _NEAR) : start]
