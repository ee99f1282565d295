"""Intervals as PostgreSQL writes them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from relserve.server.wire.arrays import fixed, of_bytes, with_nulls
from relserve.server.wire.moments import time_of_day

_ARROWS = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanos", "<i8")])
_POSTGRES = np.dtype([("micros", ">i8"), ("days", ">i4"), ("months", ">i4")])
_UNITS = ("year", "mon", "day")


def interval_text(array: pa.Array) -> pa.Array:
    """Such as 1 year 2 mons -3 days +04:05:06.7."""
    parts = _parts(array)
    columns = (parts["months"], parts["days"], parts["nanos"] // 1000)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return with_nulls(of_bytes(_interval(*row).encode() for row in rows), array)


def interval_binary(array: pa.Array) -> pa.Array:
    """Microseconds, days and months."""
    parts = _parts(array)
    made = np.empty(len(parts), _POSTGRES)
    made["micros"], made["days"], made["months"] = parts["nanos"] // 1000, parts["days"], parts["months"]
    return fixed(made, array)


def _parts(array: pa.Array) -> np.ndarray:
    return np.frombuffer(array.buffers()[1], _ARROWS)[array.offset : array.offset + len(array)]


def _interval(months: int, days: int, micros: int) -> str:
    """A sign is written before each part that is negative, and before one that follows such a part."""
    year = abs(months) // 12 * (1 if months >= 0 else -1)
    words: list[str] = []
    was_negative = False
    for value, unit in zip((year, months - 12 * year, days), _UNITS, strict=True):
        if value:
            plus = "+" if was_negative and value > 0 else ""
            words.append(f"{plus}{value} {unit}{'' if value == 1 else 's'}")
            was_negative = value < 0
    if micros or not words:
        words.append(_time(micros, was_negative))
    return " ".join(words)


def _time(micros: int, was_negative: bool) -> str:
    sign = "-" if micros < 0 else "+" if was_negative else ""
    return sign + time_of_day(abs(micros))
