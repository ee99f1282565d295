"""Arrow arrays as they are needed here: plain storage, numbers as numpy, bytes made from numpy or Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def plain(array: pa.Array) -> pa.Array:
    """The array without its extension type (bool8, uuid, json, DuckDB's own) and without a dictionary."""
    if isinstance(array.type, pa.Bool8Type):
        return array.storage.cast(pa.bool_())
    if isinstance(array.type, pa.BaseExtensionType):
        return array.storage
    if pa.types.is_dictionary(array.type):
        return array.dictionary_decode()
    return array


def numbers(array: pa.Array, dtype: Any) -> np.ndarray:
    """The values as numpy; 0 stands for NULL."""
    if pa.types.is_temporal(array.type):
        array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    filled = pc.fill_null(array, 0) if array.null_count else array
    values: np.ndarray = filled.to_numpy(zero_copy_only=False)
    return values.astype(dtype, copy=False)


def fixed(values: np.ndarray, nulls_of: pa.Array | None = None) -> pa.Array:
    """An Arrow array of each value's bytes; null where `nulls_of` is."""
    values = np.ascontiguousarray(values)
    offsets = np.arange(len(values) + 1, dtype=np.int32) * values.itemsize
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(values.view(np.uint8))]
    return with_nulls(pa.Array.from_buffers(pa.binary(), len(values), buffers), nulls_of)


def with_nulls(array: pa.Array, nulls_of: pa.Array | None) -> pa.Array:
    """The array, null where `nulls_of` is."""
    if nulls_of is None or not nulls_of.null_count:
        return array
    return pc.if_else(nulls_of.is_valid(), array, None)


def of_bytes(values: Iterable[bytes | None]) -> pa.Array:
    """An Arrow array of Python's bytes."""
    return pa.array(values, pa.binary())


def each(array: pa.Array, convert: Callable[[Any], str | bytes]) -> pa.Array:
    """What `convert` makes of each Python value, as bytes."""
    made = [None if value is None else convert(value) for value in array.to_pylist()]
    return pa.array(made, pa.binary())


def patched(array: pa.Array, where: np.ndarray, replacements: Iterable[str]) -> pa.Array:
    """The array of bytes with other texts at the places where the mask is true."""
    if not where.any():
        return array
    texts = pa.array([each.encode() for each in replacements], array.type)
    return pc.replace_with_mask(array, pa.array(where), texts)
