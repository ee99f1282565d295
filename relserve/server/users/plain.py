"""Texts in the form that every reader cuts into the same words: DuckDB's parser, sqlglot, and our own.

DuckDB's parser takes some of Unicode's characters for blanks which its tokenizer takes for letters: behind
SELECT<U+00A0>e, in which a string begins for the one, it has ended for the other. sqlglot does not know names
between backticks, and takes {# for a comment; others end a comment inside of one. So what runs, and what is
looked at, has plain blanks, and in place of those rare forms what means the same.
"""

from __future__ import annotations

import re
from itertools import pairwise

import duckdb
from duckdb import token_type as Kind

from relserve.server.users.long_texts import LONG, Odd, statements_of_long

_SPACES = "\u00a0\u2000-\u200b\u202f\u205f\u2060\u3000\ufeff"  # that DuckDB's parser takes for blanks
_SPACE = re.compile(f"[{_SPACES}]")
# What blanks may stay in: strings, quoted names and comments, of which the last may have no end.
_PART = re.compile(
    rf"""(?P<space>[{_SPACES}]) | (?P<comment>/\*) | (?P<tag>\$(?:[^\W\d]\w*+)?+\$)
    | (?<![\w$])[eE]'(?:[^'\\]++|\\.|'')*+'?+ | '(?:[^']++|'')*+'?+
    | "(?:[^"]++|"")*+"?+ | `(?:[^`]++|``)*+`?+ | --[^\r\n]*+""",
    re.S | re.X,
)
_COMMENT = re.compile(r"/\*|\*/")
_RARE = ("`", "/*", "\r", "{#", "{%", "{{")
_NUMBER_AND_LETTER = re.compile(r"\d[a-zA-Z]")
_BACKTICKS = re.compile(r"`((?:[^`]++|``)*+)`")


def plain_text(text: str) -> str:
    """The text with plain blanks, names in double quotes and without comments that could be read otherwise.

    Where something is put otherwise the text may be longer; what it means to DuckDB is the same.
    """
    if not text.isascii() and _SPACE.search(text):
        text = _with_plain_spaces(text)
    if not _has_rare_forms(text) or (len(text) > LONG and _is_plain(text)):
        return text
    return _without_rare_forms(text)


def _has_rare_forms(text: str) -> bool:
    """Whether one may be in it; a pattern over all of a text of 100 MB would hold up other clients."""
    if any(form in text for form in _RARE):
        return True
    quote = text.find("'", 2)
    while quote >= 0:
        if _NUMBER_AND_LETTER.match(text, quote - 2):
            return True
        quote = text.find("'", quote + 1)
    return False


def _is_plain(text: str) -> bool:
    """Whether a long text has rare forms in its strings and names alone; DuckDB's tokenizer is slow."""
    try:
        statements_of_long(text)
    except Odd:
        return False
    return True


def _with_plain_spaces(text: str) -> str:
    parts: list[str] = []
    past = 0
    found = _PART.search(text)
    while found is not None:
        kind, end = found.lastgroup, found.end()
        if kind == "space":
            parts += text[past : found.start()], " "
            past = end
        elif kind == "comment":
            end = _end_of_comment(text, end)
        elif kind == "tag":
            closed = text.find(found[0], end)
            end = len(text) if closed < 0 else closed + len(found[0])
        found = _PART.search(text, end)
    return "".join((*parts, text[past:]))


def _end_of_comment(text: str, start: int) -> int:
    """Where a comment ends that begins before `start`; comments nest."""
    depth = 1
    for found in _COMMENT.finditer(text, start):
        depth += 1 if found[0] == "/*" else -1
        if depth == 0:
            return found.end()
    return len(text)


def _without_rare_forms(text: str) -> str:
    data = text.encode()
    tokens = [*duckdb.tokenize(text), (len(data), Kind.comment)]
    parts = [data[: tokens[0][0]].decode()]
    for (start, kind), (end, following) in pairwise(tokens):
        here = data[start:end].decode()
        if kind == Kind.comment:
            here = re.sub(r"[^\r\n]", " ", here)
        elif quoted := _BACKTICKS.match(here):
            name = quoted[1].replace("``", "`").replace('"', '""')
            here = f'"{name}"{here[quoted.end() :]}'
        elif here == "{" or (kind == Kind.numeric_const and following == Kind.string_const):
            here += " "  # {# and 1e'' are two words each
        parts.append(here)
    return "".join(parts)
