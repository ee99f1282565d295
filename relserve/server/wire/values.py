"""Rows of an Arrow batch as DataRow messages, column by column: no Python object is made for a plain value.

A column becomes an Arrow array of the bytes to send; one join of all columns, each value after its length,
then is the text of the messages.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from relserve.errors import ProtocolError
from relserve.server.wire.arrays import fixed
from relserve.server.wire.binaries import as_binary
from relserve.server.wire.texts import as_text
from relserve.server.wire.types import ResultColumn

ROW_LIMIT_BYTES = 2**30  # PostgreSQL's own limit of a message, and half of what an Arrow array can hold
NO_COLUMNS = b"D\0\0\0\6\0\0"  # a whole message
_HEADER = np.dtype([("kind", "S1"), ("size", ">i4"), ("columns", ">i2")])


def data_rows(batch: pa.RecordBatch, columns: Sequence[ResultColumn], formats: Sequence[int]) -> bytes:
    """A DataRow message for each row of the batch.

    Args:
        batch: as DuckDB's `to_arrow_reader()` gives it.
        columns: what the client was told of the batch's columns.
        formats: 0 is text and 1 binary, one for each column.

    Raises:
        ProtocolError: a value has no form in PostgreSQL's type (22003, 22008), or a row is too long (54000).
    """
    if not columns or not batch.num_rows:
        return NO_COLUMNS * int(batch.num_rows)
    return _messages(encoded(batch, columns, formats))


def encoded(batch: pa.RecordBatch, columns: Sequence[ResultColumn], formats: Sequence[int]) -> list[pa.Array]:
    """The bytes of each column's values; NULL is null."""
    return [
        (as_binary if format_code else as_text)(array, column.type)
        for array, column, format_code in zip(batch.columns, columns, formats, strict=True)
    ]


def _messages(columns: Sequence[pa.Array]) -> bytes:
    """The rows as messages; in halves where they do not fit into one Arrow array."""
    lengths = [lengths_of(column) for column in columns]
    sizes = np.full(len(columns[0]), 6 + 4 * len(columns), np.int64)
    for length in lengths:
        sizes += np.maximum(length, 0)
    if sizes.sum() > ROW_LIMIT_BYTES:
        return _in_halves(columns)
    headers = np.empty(len(sizes), _HEADER)
    headers["kind"], headers["size"], headers["columns"] = b"D", sizes, len(columns)
    parts = [fixed(headers)]
    for length, column in zip(lengths, columns, strict=True):
        parts += (fixed(length.astype(">i4")), column)
    return flat(joined(parts))


def _in_halves(columns: Sequence[pa.Array]) -> bytes:
    num_rows = len(columns[0])
    if num_rows == 1:
        raise ProtocolError(
            f"a row is longer than {ROW_LIMIT_BYTES} bytes; ask for fewer columns of it", "54000"
        )
    half = num_rows // 2
    return b"".join(
        _messages([column.slice(start, count) for column in columns])
        for start, count in ((0, half), (half, num_rows - half))
    )


def lengths_of(column: pa.Array) -> np.ndarray:
    """The length of each value; -1 for NULL, as the protocol writes it."""
    lengths: np.ndarray = pc.fill_null(pc.binary_length(column), -1).to_numpy(zero_copy_only=False)
    return lengths.astype(np.int64)


def joined(parts: Sequence[pa.Array]) -> pa.Array:
    """The first elements one after another, then the second ones, and so on; nothing stands for null."""
    return pc.binary_join_element_wise(*parts, b"", null_handling="replace", null_replacement=b"")


def flat(rows: pa.Array) -> bytes:
    """All elements of an array of bytes one after another."""
    _, offsets, data = rows.buffers()
    ends = np.frombuffer(offsets, np.int32)
    start, end = ends[rows.offset], ends[rows.offset + len(rows)]
    return bytes(data[start:end]) if data is not None else b""
