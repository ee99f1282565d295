"""PostgreSQL's arrays, in text and binary, as Python's lists."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice
from typing import Any, NoReturn

from relserve.errors import ProtocolError
from relserve.server.wire.body import MessageBody

MAX_DIMENSIONS = 6  # as in PostgreSQL
_BLANKS = " \t\n\r\v\f"  # PostgreSQL's own: Python's and Unicode's others are part of an element
_BOUNDS = re.compile(rf"[{_BLANKS}]*+(\[[+-]?\d++(:[+-]?\d++)?\])++[{_BLANKS}]*+=")
_TOKEN = re.compile(
    rf'[{_BLANKS}]*+(?:([{{}},])|"((?:[^"\\]++|\\.)*+)"|((?:[^{{}},"\\]++|\\.)++))[{_BLANKS}]*+', re.DOTALL
)


def read_array_text(text: str, read: Callable[[str], Any]) -> tuple[int, list[Any]]:
    """The number of dimensions and the values of a text such as {1,NULL,"a b"}.

    Raises:
        ProtocolError: it is no array (22P02), or `read` raised it.
    """
    return _ArrayText(text, read).whole()


class _ArrayText:
    """One text on its way to lists."""

    def __init__(self, text: str, read: Callable[[str], Any]) -> None:
        self._text, self._read = text, read
        bounds = _BOUNDS.match(text)
        self._at = bounds.end() if bounds else 0
        self._depths: set[int] = set()

    def whole(self) -> tuple[int, list[Any]]:
        if self._token()[0] != "{":
            self._wrong("it must start with {")
        values = self._list(1)
        if self._at != len(self._text):
            self._wrong("something comes after its last }")
        if len(self._depths) > 1:
            self._wrong("its parts have different depths")
        return max(self._depths, default=0), values

    def _list(self, depth: int) -> list[Any]:
        if depth > MAX_DIMENSIONS:
            self._wrong(f"it has more than {MAX_DIMENSIONS} dimensions")
        values: list[Any] = []
        punctuation, quoted, bare = self._token()
        while punctuation != "}" or values:
            values.append(self._value(depth, punctuation, quoted, bare))
            following = self._token()[0]
            if following == "}":
                break
            if following != ",":
                self._wrong("a comma or } is wanted after an element")
            punctuation, quoted, bare = self._token()
        return values

    def _value(self, depth: int, punctuation: str | None, quoted: str | None, bare: str | None) -> Any:
        if punctuation == "{":
            return self._list(depth + 1)
        if punctuation:
            self._wrong("an element is missing")
        self._depths.add(depth)
        raw = quoted if quoted is not None else _without_blanks(bare or "")
        if quoted is None and raw.upper() == "NULL":
            return None
        return self._read(re.sub(r"\\(.)", r"\1", raw, flags=re.DOTALL))

    def _token(self) -> tuple[str | None, str | None, str | None]:
        found = _TOKEN.match(self._text, self._at)
        if not found:
            self._wrong("it ends too early")
        self._at = found.end()
        return found[1], found[2], found[3]

    def _wrong(self, why: str) -> NoReturn:
        raise ProtocolError(f'malformed array literal: "{self._text[:80]}": {why}', "22P02")


def _without_blanks(bare: str) -> str:
    """An element without the blanks around it; one behind a backslash is its own."""
    cut = bare.strip(_BLANKS)
    num_backslashes = len(cut) - len(cut.rstrip("\\"))
    return cut + bare.lstrip(_BLANKS)[len(cut) :][: num_backslashes % 2]


def read_array_binary(raw: bytes, element: int, read: Callable[[bytes], Any]) -> tuple[int, list[Any]]:
    """The number of dimensions and the values of an array in binary.

    Raises:
        ProtocolError: it is not whole, or of another type than `element` (22P03), or `read` raised it.
    """
    body = MessageBody("array parameter", raw, "22P03")
    num_dimensions, _has_null, oid = body.int32(), body.int32(), body.uint32()
    if not 0 <= num_dimensions <= MAX_DIMENSIONS or oid != element:
        raise ProtocolError(
            f"invalid array: {num_dimensions} dimensions of type {oid}, not {element}", "22P03"
        )
    sizes = [(body.int32(), body.int32())[0] for _ in range(num_dimensions)]
    count = 1 if sizes else 0
    for size in sizes:
        count *= size
    if count < 0 or count * 4 > body.left:
        raise ProtocolError(f"invalid array: {count} elements in {body.left} bytes", "22P03")
    flat = [None if each is None else read(each) for each in (body.sized() for _ in range(count))]
    body.end()
    return num_dimensions, _shaped(flat, sizes)


def _shaped(values: list[Any], sizes: list[int]) -> list[Any]:
    """Nested lists of these sizes, from the innermost outwards."""
    for size in reversed(sizes[1:]):
        rest = iter(values)
        values = [list(islice(rest, size)) for _ in range(len(values) // size if size else 0)]
    return values
