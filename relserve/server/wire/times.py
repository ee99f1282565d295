"""Dates, times, intervals as PostgreSQL writes them; infinities, and years before 1 and after 9999, too."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from relserve.errors import ProtocolError
from relserve.server.wire.arrays import fixed, numbers, of_bytes, patched, with_nulls
from relserve.server.wire.moments import (
    DAY,
    SECOND,
    moment_of_day,
    moment_of_instant,
    offset_text,
    time_of_day,
)
from relserve.server.wire.zones import fixed_offset_s

INFINITE_DAY, INFINITE_INSTANT = 2**31 - 1, 2**63 - 1
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # of the years 1 and 9999
_TIMETZ_OFFSET_LIMIT_S = 16 * 3600 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_LATE = 2_114_380_800 * SECOND  # 2037-01-01
_CYCLE = 146_097 * DAY  # 400 years
_PER_MICROSECOND = {"s": SECOND, "ms": 1000, "us": 1}
_ARROWS = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanos", "<i8")])
_POSTGRES = np.dtype([("micros", ">i8"), ("days", ">i4"), ("months", ">i4")])
_UNITS = ("year", "mon", "day")


def date_text(array: pa.Array) -> pa.Array:
    """Such as 2020-01-31, 0044-03-15 BC and infinity."""
    days = numbers(array, np.int64)
    return _with_rare(
        array.cast(pa.string()), days, days, INFINITE_DAY, lambda day: moment_of_day(day).as_postgres()
    )


def time_text(array: pa.Array) -> pa.Array:
    """Such as 12:00:00.5."""
    micros = microseconds(array)
    texts = pa.array(micros % DAY, pa.int64()).cast(pa.time64("us")).cast(pa.string())
    whole_day = micros == DAY
    return with_nulls(patched(_trimmed(texts), whole_day, ["24:00:00"] * int(whole_day.sum())), array)


def timetz_text(array: pa.Array) -> pa.Array:
    """Such as 12:00:00+02."""
    micros, offsets = timetz_parts(array)
    texts = time_text(pa.array(micros, pa.int64()).cast(pa.time64("us")))
    return with_nulls(pc.binary_join_element_wise(texts, _offset_texts(offsets), b""), array)


def timetz_parts(array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The time of day in microseconds, and the offset from UTC in seconds, positive to the east.

    Raises:
        ProtocolError: the array has lost the offsets, as without DuckDB's arrow_lossless_conversion.
    """
    if not pa.types.is_fixed_size_binary(array.type):
        raise ProtocolError("a TIME WITH TIME ZONE came without its offset", "0A000", "Cast it to VARCHAR.")
    packed = np.frombuffer(array.buffers()[1], "<u8")[array.offset : array.offset + len(array)]
    micros = (packed >> np.uint64(24)).astype(np.int64)
    offsets = _TIMETZ_OFFSET_LIMIT_S - (packed & np.uint64(0xFFFFFF)).astype(np.int64)
    return micros, offsets


def timestamp_text(array: pa.Array) -> pa.Array:
    """Such as 2020-01-31 12:00:00.5, 0044-03-15 00:00:00 BC and infinity."""
    micros = microseconds(array)
    texts = _trimmed(pa.array(micros, pa.int64()).cast(pa.timestamp("us")).cast(pa.string()))
    rare = _with_rare(
        texts, micros, micros // DAY, INFINITE_INSTANT, lambda at: moment_of_instant(at).as_postgres()
    )
    return with_nulls(rare, array)


def timestamptz_text(array: pa.Array) -> pa.Array:
    """As a timestamp of the array's time zone, which is the session's, and its offset from UTC."""
    micros = microseconds(array)
    is_finite = np.abs(micros) != INFINITE_INSTANT
    offsets = _offsets(np.where(is_finite, micros, 0), array.type.tz)
    local = np.where(is_finite, micros + offsets * SECOND, micros)
    return with_nulls(_zoned(local, offsets), array)


def _offsets(micros: np.ndarray, zone: str) -> np.ndarray:
    """The zone's offsets from UTC at these instants, in seconds; Arrow knows no summer time after 2037."""
    if (fixed := fixed_offset_s(zone)) is not None:
        return np.full(len(micros), fixed)
    local = numbers(pc.local_timestamp(pa.array(micros).cast(pa.timestamp("us", zone))), np.int64)
    offsets: np.ndarray = (local - micros) // SECOND
    is_late = micros >= _LATE
    if is_late.any():
        rules = ZoneInfo(zone)
        offsets[is_late] = [_late_offset(at, rules) for at in micros[is_late].tolist()]
    return offsets


def _late_offset(at: int, rules: ZoneInfo) -> int:
    """That of the same day of the calendar's cycle of 400 years which Python's years reach."""
    within = _LATE + (at - _LATE) % _CYCLE
    offset = (_EPOCH + timedelta(microseconds=within)).astimezone(rules).utcoffset()
    return int(offset.total_seconds()) if offset is not None else 0


def _zoned(local: np.ndarray, offsets: np.ndarray) -> pa.Array:
    texts = timestamp_text(pa.array(local, pa.int64()).cast(pa.timestamp("us")))
    zones = _offset_texts(offsets)
    zoned = pc.binary_join_element_wise(texts, zones, b"")
    is_rare = _is_rare(local // DAY)
    rare = zip(local[is_rare].tolist(), offsets[is_rare].tolist(), strict=True)
    return patched(zoned, is_rare, [_rare_zoned(at, offset) for at, offset in rare])


def _rare_zoned(at: int, offset: int) -> str:
    if abs(at) == INFINITE_INSTANT:
        return _infinity(at)
    return moment_of_instant(at).as_postgres(offset_text(offset))


def microseconds(array: pa.Array) -> np.ndarray:
    """Times of day or timestamps of any unit in microseconds; infinities stay what they are.

    Raises:
        ProtocolError: one is too far away for microseconds.
    """
    values = numbers(array, np.int64)
    unit = array.type.unit
    if unit == "us":
        return values
    is_finite = np.abs(values) != INFINITE_INSTANT
    if unit == "ns":
        rounded = np.sign(values) * ((np.abs(values * is_finite) + 500) // 1000)  # as DuckDB's cast does
        return np.where(is_finite, rounded, values)
    factor = _PER_MICROSECOND[unit]
    if (is_finite & (np.abs(values) > INFINITE_INSTANT // factor)).any():
        raise ProtocolError("timestamp out of range: it has no microseconds in 64 bits", "22008")
    return np.where(is_finite, values * np.where(is_finite, factor, 1), values)


def _with_rare(
    texts: pa.Array, values: np.ndarray, days: np.ndarray, infinite: int, write: Callable[[int], str]
) -> pa.Array:
    """The texts, but for infinities and years that Arrow does not write as PostgreSQL does."""
    is_rare = _is_rare(days)
    rare = values[is_rare].tolist()
    told = (_infinity(value) if abs(value) == infinite else write(value) for value in rare)
    return patched(texts.cast(pa.binary()), is_rare, told)


def _is_rare(days: np.ndarray) -> np.ndarray:
    return (days < _FIRST_DAY) | (days > _LAST_DAY)


def _infinity(value: int) -> str:
    return "infinity" if value > 0 else "-infinity"


def _trimmed(texts: pa.Array) -> pa.Array:
    """Without the zeros that end the fraction of a second, and without a point that ends the text."""
    return pc.replace_substring_regex(texts, r"\.?0+$", "").cast(pa.binary())


def _offset_texts(offsets: np.ndarray) -> pa.Array:
    different, which = np.unique(offsets, return_inverse=True)
    texts = pa.array([offset_text(offset).encode() for offset in different.tolist()], pa.binary())
    return texts.take(pa.array(which))


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
