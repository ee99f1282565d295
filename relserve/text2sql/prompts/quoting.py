"""Texts that are not ours, written into a prompt so that they are seen to be data."""

from __future__ import annotations

import json
import re
import unicodedata

import duckdb

from relserve.linking.schema import quoted

MAX_CHARS = 120  # of a value in a prompt

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def as_data(text: str, max_chars: int = MAX_CHARS) -> str:
    """A text as a JSON string: in one line, cut, without control characters.

    `<` is written as JSON's \\u003c, so that no text spells a fence or a special token of a model.
    """
    seen = "".join(" " if unicodedata.category(char) in _UNSEEN else char for char in text)
    cut = seen if len(seen) <= max_chars else seen[: max_chars - 1] + "…"
    return json.dumps(cut, ensure_ascii=False).replace("<", "\\u003c")


def name_text(name: str) -> str:
    """A name as it stands in SQL: in quotes where it needs them."""
    if _PLAIN_NAME.fullmatch(name) and duckdb.tokenize(name)[0][1] == duckdb.token_type.identifier:
        return name
    return quoted(name)


def is_speakable(name: str) -> bool:
    """Whether a name can stand in a prompt as it is: it spells no fence, special token or line of its own."""
    unseen = any(unicodedata.category(char) in _UNSEEN for char in name)
    return not unseen and not re.search(r"<[/|]|\|>", name) and len(name) <= MAX_CHARS


_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))  # control characters, marks of direction, ..
