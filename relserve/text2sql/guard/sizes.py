"""Calls whose answer, or whose time, is far larger than what they are given; and how large they may be.

DuckDB computes a function for 2,048 rows at once, counts little of the memory that it takes, and cannot be
interrupted meanwhile: repeat('x', 1000000) asks for two gigabytes before anything can stop it. So what such
calls grow by must be written as a number, and all of a statement's may multiply to MOST at most.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from relserve.errors import UnsafeSqlError

MOST = 10_000
LONGEST_COMPARED = 1_000  # characters: the time is the product of both lengths
_IN_BRACES = re.compile(r"\{[^{}]+\{")
_WIDTH = re.compile(r"\d+")

# By name, the arguments whose product is how much larger the result gets.
_GROWING: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "repeat": (1,), "lpad": (1,), "rpad": (1,), "list_resize": (1,), "array_resize": (1,),
        "bitstring": (1,), "bar": (3,), "equi_width_bins": (2,), "range": (0, 1), "generate_series": (0, 1),
    }
)  # fmt: skip
_FORMATS = frozenset(["format", "printf"])
_DISTANCES = frozenset(["levenshtein", "editdist3", "damerau_levenshtein"])


def growth(name: str, arguments: Sequence[Mapping[str, Any]]) -> int:
    """How many times larger a call's answer may be than what it is given; 1 for most functions.

    Raises:
        UnsafeSqlError: that is not to be seen, for it is not written as a number.
    """
    if name in _DISTANCES and not any(_is_short_text(each) for each in arguments):
        raise UnsafeSqlError(
            f"{name}() in generated SQL compares with a text written out, of at most {LONGEST_COMPARED:,} "
            "characters: nothing can interrupt it over two long texts"
        )
    if name in _FORMATS and arguments:
        return _width(name, arguments[0])
    times = [_number(name, arguments[at]) for at in _GROWING.get(name, ()) if at < len(arguments)]
    return max([1, *times])


def _number(name: str, argument: Mapping[str, Any]) -> int:
    literal = argument.get("literal") or {}
    if literal.get("kind") != "INTEGER":
        in_from = name in ("range", "generate_series")
        raise UnsafeSqlError(
            f"{name}() in generated SQL takes numbers that are written out, for its answer grows by them"
            + (f"; put it in FROM to count or step by other values: FROM {name}(..)" if in_from else "")
        )
    return int(literal["text"])


def _width(name: str, argument: Mapping[str, Any]) -> int:
    literal = argument.get("literal") or {}
    if literal.get("kind") != "STRING":
        raise UnsafeSqlError(f"{name}() in generated SQL takes a format that is written out")
    text = literal.get("text", "")
    if "*" in text or _IN_BRACES.search(text):
        raise UnsafeSqlError(f"{name}() in generated SQL takes a format whose widths are numbers")
    return max([1, *map(int, _WIDTH.findall(text))])


def _is_short_text(argument: Mapping[str, Any]) -> bool:
    literal = argument.get("literal") or {}
    return literal.get("kind") == "STRING" and len(literal.get("text", "")) <= LONGEST_COMPARED
