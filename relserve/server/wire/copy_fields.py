"""The fields of one line of COPY's data, in text and in CSV."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from relserve.server.wire.body import utf8
from relserve.server.wire.copy_options import ALL_COLUMNS, CopyOptions

Fields = Callable[[str], list[str | bytes | None]]
_BACKSLASH = re.compile(rb"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_ESCAPES = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def fields_reader(columns: Sequence[str], options: CopyOptions) -> Fields:
    """A function from a line to its fields; it raises ValueError for a malformed one."""
    return _Csv(columns, options).fields if options.format == "csv" else _Text(options).fields


def is_open_after(line: str, options: CopyOptions, *, is_open: bool) -> bool:
    """Whether a quote of CSV is open after a line, if it was `is_open` before."""
    quote, escape = options.quote, options.escape
    if quote == escape:
        return is_open ^ bool(line.count(quote) & 1)
    inside = re.compile(f"{re.escape(escape)}[{re.escape(quote + escape)}]|{re.escape(quote)}")
    at = 0
    while at < len(line):
        found = inside.search(line, at) if is_open else re.compile(re.escape(quote)).search(line, at)
        if found is None:
            break
        at = found.end()
        is_open ^= found[0] == quote
    return is_open


class _Text:
    """Fields between delimiters, with backslashes before what is not meant as it is."""

    def __init__(self, options: CopyOptions) -> None:
        self._null, self._delimiter = options.null, options.delimiter
        self._token = re.compile(rf"\\.|{re.escape(options.delimiter)}", re.DOTALL)

    def fields(self, line: str) -> list[str | bytes | None]:
        if "\r" in line:
            raise ValueError("a carriage return stands in the data; write it as \\r")
        if "\\" not in line:
            return [None if field == self._null else field for field in line.split(self._delimiter)]
        return [self._value(field) for field in self._parts(line)]

    def _parts(self, line: str) -> list[str]:
        """Between delimiters that no backslash is before."""
        parts, start = [], 0
        for found in self._token.finditer(line):
            if found[0] == self._delimiter:
                parts.append(line[start : found.start()])
                start = found.end()
        return [*parts, line[start:]]

    def _value(self, field: str) -> str | None:
        if field == self._null:
            return None
        if "\\" not in field:
            return field
        if re.search(r"(?<!\\)(?:\\\\)*+\\$", field):
            raise ValueError("a field ends with a backslash; write it as \\\\")
        return utf8(_BACKSLASH.sub(_meant, field.encode()))


def _meant(found: re.Match[bytes]) -> bytes:
    """What stands for a backslash and what follows it."""
    code = found[1]
    if code[:1] == b"x" and len(code) > 1:
        return bytes([int(code[1:], 16)])
    if code[:1].isdigit() and code[0] < ord("8"):
        return bytes([int(code, 8) & 0xFF])
    return _ESCAPES.get(code, code)


class _Csv:
    """Fields between delimiters, in quotes where they hold one, or a quote or a newline."""

    def __init__(self, columns: Sequence[str], options: CopyOptions) -> None:
        self._options = options
        self._keeps_null = [_is_named(name, options.force_not_null) for name in columns]
        self._quoted_null = [_is_named(name, options.force_null) for name in columns]
        quote, escape = re.escape(options.quote), re.escape(options.escape)
        delimiter = re.escape(options.delimiter)
        self._outside = re.compile(f"[^{quote}{delimiter}]+|{quote}|{delimiter}")
        self._inside = re.compile(f"{escape}[{escape}{quote}]|[^{quote}{escape}]+|.", re.DOTALL)

    def fields(self, line: str) -> list[str | bytes | None]:
        options = self._options
        if options.quote not in line:
            if "\r" in line:
                raise ValueError("an unquoted carriage return stands in the data; put the field into quotes")
            parts = [(part, False) for part in line.split(options.delimiter)]
        else:
            parts = self._parts(line)
        return [self._value(i, *part) for i, part in enumerate(parts)]

    def _parts(self, line: str) -> list[tuple[str, bool]]:
        """The fields, and whether each was in quotes."""
        quote, delimiter = self._options.quote, self._options.delimiter
        parts: list[tuple[str, bool]] = []
        text, was_quoted, is_open, at = "", False, False, 0
        while at < len(line):
            found = (self._inside if is_open else self._outside).match(line, at)
            assert found is not None  # one of the three parts matches any character
            at, token = found.end(), found[0]
            if token == quote:
                is_open, was_quoted = not is_open, True
            elif is_open:
                text += token[1] if len(token) == 2 and token[0] == self._options.escape else token
            elif token == delimiter:
                parts.append((text, was_quoted))
                text, was_quoted = "", False
            else:
                text += token
        return [*parts, (text, was_quoted)]

    def _value(self, index: int, text: str, was_quoted: bool) -> str | None:
        if text != self._options.null or index >= len(self._keeps_null):
            return text
        is_null = self._quoted_null[index] if was_quoted else not self._keeps_null[index]
        return None if is_null else text


def _is_named(name: str, names: tuple[str, ...]) -> bool:
    return names == ALL_COLUMNS or name in names
