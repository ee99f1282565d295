"""Columns to their distinct rows, in Arrow and NumPy: each is asked once, however many rows it stands for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.types as kinds
from numpy.typing import NDArray

from relserve.call.template import text_of
from relserve.call.values import to_arrow, values_of

Codes = NDArray[np.int64]
_BITS_OF_FLOATS = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}


class Coded(NamedTuple):
    """A column: its distinct values, and for each row the place of its value, -1 where it is NULL."""

    values: list[Any]
    codes: Codes


class Folded(NamedTuple):
    """The distinct rows without NULL in order of first appearance.

    Attributes:
        rows: their values.
        counts: how many rows of the frame each stands for.
        places: for each row of the frame its place in `rows`, -1 where a value is NULL.
    """

    rows: list[tuple[Any, ...]]
    counts: list[int]
    places: Codes

    def spread(self, answers: pa.Array) -> pa.Array:
        """Answers to `rows` as a column of the frame."""
        return answers.take(_to_arrow(self.places))


def encode(column: pa.Array | pa.ChunkedArray) -> Coded:
    """The distinct values as they go into a prompt; 0.0 and -0.0, which read otherwise, stay apart."""
    kind = column.type
    if kinds.is_null(kind):
        return Coded([], np.full(len(column), -1, np.int64))
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    if not len(column):
        return Coded([], np.empty(0, np.int64))
    if kinds.is_dictionary(kind) and not _is_unifiable(chunks):
        return encode(pa.chunked_array([chunk.dictionary_decode() for chunk in chunks]))
    if not kinds.is_dictionary(kind):
        chunks = [_encodable(chunk) for chunk in chunks]
    coded = pa.chunked_array(chunks).dictionary_encode().unify_dictionaries()
    distinct = coded.chunk(0).dictionary
    if kind in _BITS_OF_FLOATS:
        distinct = distinct.view(kind)
    elif kinds.is_float16(kind):
        distinct = distinct.view(pa.float32())
    return Coded(values_of(distinct), np.concatenate([_to_numpy(chunk.indices) for chunk in coded.chunks]))


def fold(columns: Sequence[Coded]) -> Folded:
    """The distinct rows of at least one column."""
    places = _dense(columns[0].codes)
    for column in columns[1:]:
        null = (places < 0) | (column.codes < 0)
        places = places * len(column.values) + column.codes  # below 2**62: no column has 2**31 values
        places[null] = -1
        places = _dense(places)
    valid = np.flatnonzero(places >= 0)
    taken = places[valid]
    counts = np.bincount(taken)
    first = np.empty(len(counts), np.int64)
    first[taken[::-1]] = valid[::-1]  # the last to be written is the first row
    values = [[column.values[code] for code in column.codes[first].tolist()] for column in columns]
    return Folded(list(zip(*values, strict=True)), counts.tolist(), places)


def _encodable(array: pa.Array) -> pa.Array:
    """What Arrow can encode: floats as their bits, text and bytes in offsets, nested values as their text."""
    kind = array.type
    if kind in _BITS_OF_FLOATS:
        return array.view(_BITS_OF_FLOATS[kind])
    if kinds.is_float16(kind):  # DuckDB cannot read it
        return array.cast(pa.float32()).view(pa.int32())
    if kinds.is_string_view(kind):
        return array.cast(pa.large_string())
    if kinds.is_binary_view(kind) or kinds.is_fixed_size_binary(kind):
        return array.cast(pa.large_binary())
    if kinds.is_decimal32(kind) or kinds.is_decimal64(kind):
        return array.cast(pa.decimal128(kind.precision, kind.scale))
    if kinds.is_nested(kind) or isinstance(kind, pa.BaseExtensionType):
        texts = [None if value is None else text_of(value) for value in values_of(array)]
        return to_arrow(texts, pa.string())
    return array


def _is_unifiable(chunks: Sequence[pa.DictionaryArray]) -> bool:
    """Whether Arrow can make one dictionary of those of the chunks: plain values, no NULL among them."""
    if kinds.is_nested(chunks[0].type.value_type):
        return len(chunks) == 1
    return not any(chunk.dictionary.null_count for chunk in chunks)


def _dense(codes: Codes) -> Codes:
    """The same codes numbered from 0 in order of first appearance; -1 stays."""
    return _to_numpy(_to_arrow(codes).dictionary_encode().indices)


def _to_arrow(codes: Codes) -> pa.Array:
    """Codes with NULL for -1 (through buffers: pa.array would import pandas)."""
    valid = pa.py_buffer(np.packbits(codes >= 0, bitorder="little"))
    return pa.Array.from_buffers(pa.int64(), len(codes), [valid, pa.py_buffer(np.ascontiguousarray(codes))])


def _to_numpy(indices: pa.Array) -> Codes:
    """Indices with -1 for NULL (read from the buffers: a fill value would import pandas)."""
    if not len(indices):
        return np.empty(0, np.int64)
    whole = indices.cast(pa.int64())
    valid, values = whole.buffers()
    codes = np.frombuffer(values, np.int64, len(whole), whole.offset * 8)
    if not whole.null_count:
        return codes
    bits = np.unpackbits(np.frombuffer(valid, np.uint8), bitorder="little")
    return np.where(bits[whole.offset : whole.offset + len(whole)], codes, -1)
