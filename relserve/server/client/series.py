"""generate_series() among what a SELECT gives: rows, as in PostgreSQL, where DuckDB gives a list."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from relserve.errors import ForbiddenError
from relserve.server.users.words import Word, words

_NAME = "generate_series"
_OPEN, _CLOSED = ("(", "[", "{"), (")", "]", "}")
_CLAUSES = frozenset(
    "from where group having window qualify order limit offset union intersect except fetch for using values "
    "set into returning sample".split()
)
# what a list alone can be part of: DuckDB's own use of the function
_AS_LIST = re.compile(rb"\s*+(?:\[|\.|(?:::\s*+[\w.\" ()\x80-\xff]*+\[))")
_ENDS = re.compile(rb"(?is)\s*+(?:[,);]|\Z|(?:from|where|union|order|limit|group)\b)")


def with_series_as_rows(text: str) -> str:
    """The text with unnest() about each generate_series() that is an item of a SELECT, or a part of its sum.

    One that is an argument of another function, or whose list is taken by [], a method or a cast, stays.
    """
    if _NAME not in text.lower():
        return text
    try:
        found = words(text)
    except ForbiddenError:
        return text  # what refuses the text says why
    data, parts, done = text.encode(), [], 0
    for start, end, is_item in _calls(found):
        if _AS_LIST.match(data, end):
            continue
        name = f" AS {_NAME}" if is_item and _ENDS.match(data, end) else ""
        parts += [data[done:start].decode(), f"unnest({data[start:end].decode()}){name}"]
        done = end
    return "".join([*parts, data[done:].decode()])


def _calls(found: Sequence[Word]) -> Iterator[tuple[int, int, bool]]:
    """Where each call in a SELECT's list begins and ends, and whether an item begins with it."""
    lists = [False]  # of each bracket that is open, whether its words are now in a SELECT's list
    for i, word in enumerate(found):
        if word.name in _OPEN and not word.is_name:
            lists.append(False)
        elif word.name in _CLOSED and not word.is_name:
            lists.pop()
            lists = lists or [False]
        elif word.plain == "select":
            lists[-1] = True
        elif word.plain in _CLAUSES and not (i and found[i - 1].name in (".", "as")):
            lists[-1] = False
        elif lists[-1] and word.name == _NAME and (end := _end_of_call(found, i)) is not None:
            before = found[i - 1]
            if before.name != ".":
                yield word.start, end, before.plain in ("select", ",", "all")


def _end_of_call(found: Sequence[Word], place: int) -> int | None:
    """Where the brackets after a name close; None: there are none, or they do not."""
    depth = 0
    for at in range(place + 1, len(found)):
        word = found[at]
        depth += not word.is_name and word.name in _OPEN
        depth -= not word.is_name and word.name in _CLOSED
        if depth == 0:
            return word.start + 1 if word.name == ")" else None
    return None
