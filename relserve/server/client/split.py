"""A text of several statements as its statements, for texts that only PostgreSQL's grammar knows, too."""

from __future__ import annotations

import re

from relserve_duckdb.text.lexical import (
    COMMENT,
    DOLLARS,
    ESCAPED,
    LEAD,
    LINE_COMMENT,
    NAME,
    OPEN_COMMENT,
    STRING,
)

# What a semicolon may stand in without ending a statement. A comment ends at the first */ here, and comments
# nest: a semicolon inside a nested one splits the text, whose parts DuckDB then refuses to read.
_TOKEN = re.compile(
    rf"(?<![\w$]){ESCAPED}|{STRING}|{NAME}|{DOLLARS}|(?P<comment>{LINE_COMMENT}|{COMMENT})|{OPEN_COMMENT}|;",
    re.S,
)
_BLANKS = "; \t\r\n\f"
_LEAD = re.compile(LEAD)

_BYTES = re.compile(r"(?i)(?<!['\w])'\\x((?:[0-9a-f]{2})*+)'::bytea\b")


def split(text: str) -> list[str]:
    """The statements of a text, without their semicolons and without empty ones."""
    if ";" not in text:
        return [text] if bare(text) else []
    parts, start = [], 0
    for token in _TOKEN.finditer(text):
        if token[0] == ";":
            parts.append(text[start : token.start()])
            start = token.end()
    return [part for part in (*parts, text[start:]) if bare(part)]


def bare(text: str) -> str:
    """A statement without comments and blanks before it, and without those and semicolons behind."""
    lead = _LEAD.match(text)
    assert lead is not None
    text = text[lead.end() :].rstrip(_BLANKS)
    if "--" not in text and "/*" not in text:
        return text
    end = past = 0
    for token in _TOKEN.finditer(text):
        if before := text[past : token.start()].rstrip(_BLANKS):
            end = past + len(before)
        past = token.end()
        if token[0] != ";" and token["comment"] is None:
            end = past
    return text if past < len(text) else text[:end]


def with_duckdbs_bytes(text: str) -> str:
    r"""The text with bytes as DuckDB reads them: of '\x00ff'::bytea, as drivers write it, it reads 00."""
    if r"'\x" not in text:  # the pattern takes a second over 100 MB
        return text
    return _BYTES.sub(lambda found: f"unhex('{found[1]}')", text)
