"""Lists of scalars as PostgreSQL's one-dimensional arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from relserve.server.wire.arrays import fixed, with_nulls

Encode = Callable[[pa.Array], pa.Array]
_TO_BE_QUOTED = r'^$|^(?i:null)$|["\\{},[:space:]\x0b]'
_HEADER = np.dtype(
    [("dimensions", ">i4"), ("has_null", ">i4"), ("element", ">u4"), ("size", ">i4"), ("first", ">i4")]
)
_EMPTY_HEADER_BYTES = 12


def list_text(array: pa.Array, encode: Encode) -> pa.Array:
    """Such as {1,NULL,"a b"}."""
    elements = encode(elements_of(array)).cast(pa.string())
    escaped = pc.replace_substring_regex(elements, r'(["\\])', r"\\\1")
    quoted = pc.binary_join_element_wise('"', escaped, '"', "")
    shown = pc.if_else(pc.match_substring_regex(elements, _TO_BE_QUOTED), quoted, elements)
    joined = pc.binary_join(regrouped(array, pc.fill_null(shown, "NULL")), ",")
    return with_nulls(pc.binary_join_element_wise("{", joined, "}", "").cast(pa.binary()), array)


def list_binary(array: pa.Array, element_oid: int, encode: Encode) -> pa.Array:
    """The header of one dimension, none if the list is empty, then each element after its length."""
    elements = encode(elements_of(array))
    lengths = pc.fill_null(pc.binary_length(elements), -1).to_numpy(zero_copy_only=False)
    sized = pc.binary_join_element_wise(
        fixed(lengths.astype(">i4")), elements, b"", null_handling="replace", null_replacement=b""
    )
    headers = _headers(array, lengths < 0, element_oid)
    bodies = pc.binary_join(regrouped(array, sized), b"")
    return with_nulls(pc.binary_join_element_wise(headers, bodies, b""), array)


def _headers(array: pa.Array, is_null: np.ndarray, element_oid: int) -> pa.Array:
    counts = _counts(array)
    nulls_before = np.concatenate(([0], np.cumsum(is_null)))
    ends = np.cumsum(counts)
    headers = np.zeros(len(counts), _HEADER)
    headers["dimensions"], headers["size"], headers["first"] = counts > 0, counts, 1
    headers["has_null"] = nulls_before[ends] > nulls_before[ends - counts]
    headers["element"] = element_oid
    whole = fixed(headers)
    return pc.if_else(pa.array(counts > 0), whole, pc.binary_slice(whole, 0, _EMPTY_HEADER_BYTES))


def elements_of(array: pa.Array) -> pa.Array:
    """All elements, one list after another; Arrow's flatten() cannot do every type."""
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        return array.values.slice(array.offset * size, len(array) * size)
    start, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
    return array.values.slice(start, end - start)


def regrouped(array: pa.Array, elements: pa.Array) -> pa.Array:
    """Lists of other elements, grouped as those of `array`; what lies behind a null list comes out, too."""
    offsets = np.concatenate(([0], np.cumsum(_counts(array))))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), elements)


def _counts(array: pa.Array) -> np.ndarray:
    if pa.types.is_fixed_size_list(array.type):
        return np.full(len(array), array.type.list_size, np.int64)
    return np.diff(array.offsets.to_numpy()).astype(np.int64)
