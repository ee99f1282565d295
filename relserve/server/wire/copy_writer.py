"""Rows of Arrow batches as COPY's data, a CopyData message for each row, as PostgreSQL sends them."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from relserve.errors import ProtocolError
from relserve.server.wire.arrays import fixed
from relserve.server.wire.backend import copy_data
from relserve.server.wire.copy_options import ALL_COLUMNS, CopyOptions
from relserve.server.wire.types import ResultColumn
from relserve.server.wire.values import encoded, flat, joined, lengths_of

BINARY_SIGNATURE = b"PGCOPY\n\xff\r\n\0"
_HEADER = np.dtype([("kind", "S1"), ("size", ">i4")])
_ESCAPED = (
    ("\\", "\\\\"),
    ("\b", "\\b"),
    ("\f", "\\f"),
    ("\n", "\\n"),
    ("\r", "\\r"),
    ("\t", "\\t"),
    ("\v", "\\v"),
)


class CopyWriter:
    """COPY TO STDOUT of these columns."""

    def __init__(self, columns: Sequence[ResultColumn], options: CopyOptions) -> None:
        self._columns, self._options = columns, options
        # PostgreSQL sends it in one message with the first row, and psycopg looks for it there
        self._signature = BINARY_SIGNATURE + bytes(8) if options.format == "binary" else b""
        names = {column.name for column in columns}
        if unknown := [name for name in options.force_quote if name not in names | {*ALL_COLUMNS}]:
            raise ProtocolError(f'FORCE_QUOTE column "{unknown[0]}" not referenced by COPY', "42P10")

    @property
    def formats(self) -> list[int]:
        """The format of each column, for CopyOutResponse."""
        return [int(self._options.format == "binary")] * len(self._columns)

    def start(self) -> bytes:
        """The line that names the columns, where it is wanted."""
        if self._options.header == "no":
            return b""
        names = [pa.array([column.name.encode()], pa.binary()) for column in self._columns]
        return _messages(self._lines(names, is_header=True))

    def rows(self, batch: pa.RecordBatch) -> bytes:
        """A batch's rows."""
        if not batch.num_rows:
            return b""
        values = encoded(batch, self._columns, self.formats)
        if self._options.format != "binary":
            return _messages(self._lines(values))
        rows, signature = self._tuples(values), self._signature
        self._signature = b""
        if not signature:
            return _messages(rows)
        return copy_data(signature + rows[0].as_py()) + _messages(rows.slice(1))

    def end(self) -> bytes:
        """What comes after the rows."""
        if self._options.format != "binary":
            return b""
        return copy_data(self._signature + struct.pack("!h", -1))

    def _tuples(self, values: list[pa.Array]) -> pa.Array:
        """How many fields, then each after its length."""
        count = np.full(len(values[0]) if values else 0, len(values), ">i2")
        parts = [fixed(count)]
        for value in values:
            parts += (fixed(lengths_of(value).astype(">i4")), value)
        return joined(parts)

    def _lines(self, values: list[pa.Array], *, is_header: bool = False) -> pa.Array:
        write = self._quoted if self._options.format == "csv" else self._escaped
        texts = [write(value.cast(pa.string()), i, is_header) for i, value in enumerate(values)]
        filled = [pc.fill_null(text, self._options.null) for text in texts]
        lines = pc.binary_join_element_wise(*filled, self._options.delimiter)
        return self._encoded(pc.binary_join_element_wise(lines, "\n", ""))

    def _escaped(self, texts: pa.Array, index: int, is_header: bool) -> pa.Array:
        for char, escape in _ESCAPED:
            texts = pc.replace_substring(texts, char, escape)
        if self._options.delimiter != "\t":
            texts = pc.replace_substring(texts, self._options.delimiter, "\\" + self._options.delimiter)
        return texts

    def _quoted(self, texts: pa.Array, index: int, is_header: bool) -> pa.Array:
        """In quotes where a reader would take the text for something else, and where it is wanted."""
        options = self._options
        special = "".join(f"\\x{{{ord(char):x}}}" for char in (options.delimiter, options.quote, "\n", "\r"))
        wanted = options.force_quote == ALL_COLUMNS or self._columns[index].name in options.force_quote
        needs = pc.match_substring_regex(texts, f"[{special}]")
        needs = pc.or_(needs, pc.equal(texts, options.null))
        if len(self._columns) == 1:
            needs = pc.or_(needs, pc.equal(texts, "\\."))
        if wanted and not is_header:
            needs = pc.is_valid(texts)
        escaped = texts
        for char in dict.fromkeys((options.escape, options.quote)):
            escaped = pc.replace_substring(escaped, char, options.escape + char)
        return pc.if_else(
            needs, pc.binary_join_element_wise(options.quote, escaped, options.quote, ""), texts
        )

    def _encoded(self, lines: pa.Array) -> pa.Array:
        codec = self._options.codec
        if codec == "utf-8":
            return lines.cast(pa.binary())
        try:
            return pa.array([line.encode(codec) for line in lines.to_pylist()], pa.binary())
        except UnicodeEncodeError as error:
            wrong = error.object[error.start]
            raise ProtocolError(
                f"character {wrong!r} has no equivalent in encoding {codec}", "22P05"
            ) from error


def _messages(rows: pa.Array) -> bytes:
    headers = np.empty(len(rows), _HEADER)
    headers["kind"], headers["size"] = b"d", lengths_of(rows) + 4
    return flat(joined([fixed(headers), rows]))
