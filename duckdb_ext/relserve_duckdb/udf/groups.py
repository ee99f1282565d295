"""The groups that llm_agg is asked about, read from the column of lists that DuckDB hands over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.types as kinds

from relserve.call.values import values_of

Texts = list[str] | None  # the values of a group, None for a group without any


def distinct_groups(column: pa.Array | pa.ChunkedArray, ascending: bool) -> tuple[list[Texts], list[int]]:
    """The distinct lists of a column, without their NULLs, and for each row the number of its list.

    A window gives each of its rows the same list, so equal ones are found before Python holds any text.

    Args:
        ascending: the lists come in no order; their values are to.
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    firsts, numbers = _distinct(array)
    lists = values_of(array if len(firsts) == len(array) else array.take(pa.array(firsts, pa.int64())))
    return [_texts(values, ascending) for values in lists], numbers


def _texts(values: list[str | None] | None, ascending: bool) -> Texts:
    texts = [value for value in values or () if value is not None]
    return (sorted(texts) if ascending else texts) or None


def _distinct(array: Any) -> tuple[list[int], list[int]]:
    """The first row of each distinct list, and for each row which of those it is like."""
    key_of = _key_of(array)
    if key_of is None:
        return list(range(len(array))), list(range(len(array)))
    firsts: list[int] = []
    numbers: list[int] = []
    alike: dict[Any, list[int]] = {}
    for row in range(len(array)):
        candidates = alike.setdefault(key_of(row), [])
        number = next((each for each in candidates if array[firsts[each]].equals(array[row])), None)
        if number is None:
            number = len(firsts)
            firsts.append(row)
            candidates.append(number)
        numbers.append(number)
    return firsts, numbers


def _key_of(array: Any) -> Callable[[int], tuple[int, bytes]] | None:
    """What equal lists of texts share: how many, and all their characters; None for other columns."""
    if not (kinds.is_list(array.type) or kinds.is_large_list(array.type)):
        return None
    texts, ends = array.values, array.offsets.to_pylist()
    if not (kinds.is_string(texts.type) or kinds.is_large_string(texts.type)):
        return None
    _, offsets, data = texts.buffers()
    places = memoryview(offsets).cast("b").cast("i" if kinds.is_string(texts.type) else "q")[texts.offset :]
    characters = memoryview(data or b"")

    def key(row: int) -> tuple[int, bytes]:
        first, end = ends[row], ends[row + 1]
        return end - first, bytes(characters[places[first] : places[end]])

    return key
