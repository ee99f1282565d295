"""Times, dates and durations that DuckDB cannot print, and that may take its database down with them.

Arrow's columns hold any whole number, such as microseconds in a column of seconds. DuckDB's times end at
24:00:00, its timestamps and intervals count microseconds in 64 bits, and its dates count days in 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.types as kinds

from relserve.errors import UsageError

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_SECONDS_OF_DAY = 86_400
_INFINITE = 2**63 - 1  # with either sign a timestamp without end, in all units
_FIRST_TIMESTAMP_S = -9_223_372_022_400  # the start of DuckDB's first day with a time, in the year 290309 BC


def check_ranges(array: pa.Array) -> None:
    """Refuse a column with a time, date or duration that DuckDB has no value for, in lists and structs too.

    Raises:
        UsageError: says which value, of which type.
    """
    import pyarrow.compute as pc  # takes 30 ms, and is seldom needed

    for part in _parts(array):
        least, most = _limits(part.type)
        numbers = part.view(pa.int32() if part.type.bit_width == 32 else pa.int64())
        if kinds.is_timestamp(part.type):
            is_infinite = pc.is_in(numbers, pa.array([-_INFINITE, _INFINITE]))
            numbers = numbers.filter(pc.invert(is_infinite))
        low, high = pc.min_max(numbers).as_py().values()
        if low is not None and (low < least or high > most):
            raise UsageError(_message(low if low < least else high, part.type, least, most))


def _parts(array: pa.Array) -> Iterator[pa.Array]:
    """The column itself, or what its lists, structs, maps and dictionaries hold, where that has limits."""
    kind = array.type
    if kinds.is_dictionary(kind):
        yield from _parts(array.dictionary)
    elif kinds.is_map(kind):
        first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
        for entries in (array.keys, array.items):
            yield from _parts(entries[first:last])
    elif kinds.is_struct(kind):
        for member in array.flatten():
            yield from _parts(member)
    elif kinds.is_nested(kind) and hasattr(array, "flatten"):
        yield from _parts(array.flatten())
    elif kinds.is_time(kind) or kinds.is_timestamp(kind) or kinds.is_date64(kind) or kinds.is_duration(kind):
        yield array


def _limits(kind: pa.DataType) -> tuple[int, int]:
    """The least and the greatest number that a type's column may hold, but for infinity."""
    if kinds.is_date64(kind):
        return -(2**31) * _SECONDS_OF_DAY * 1000, 2**31 * _SECONDS_OF_DAY * 1000 - 1
    per_second = _PER_SECOND[kind.unit]
    if kinds.is_time(kind):
        return 0, _SECONDS_OF_DAY * per_second
    if kind.unit == "ns":
        return -(2**63), 2**63 - 1
    microseconds = 10**6 // per_second
    first = _FIRST_TIMESTAMP_S * per_second if kinds.is_timestamp(kind) else -(2**63 // microseconds)
    return first, (2**63 - 1) // microseconds


def _message(number: int, kind: pa.DataType, least: int, most: int) -> str:
    return (
        f"the number {number} is out of range for the type {kind}, which reaches from {least} to {most}; "
        "if the numbers are in another unit, give the column the type of that unit"
    )
