"""Intervals in the words of PostgreSQL, of SQL and of ISO 8601, as months, days and microseconds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation

from relserve.errors import ProtocolError
from relserve.server.wire.moments import DAY, SECOND

_MONTHS = {
    "month": 1, "mon": 1, "year": 12, "yr": 12, "y": 12, "decade": 120, "century": 1200, "centurie": 1200,
    "millennium": 12000,
}  # fmt: skip
_DAYS = {"week": 7, "w": 7, "day": 1, "d": 1}
_MINUTE, _HOUR = 60 * SECOND, 3600 * SECOND
_MICROSECONDS = {
    "hour": _HOUR, "hr": _HOUR, "h": _HOUR, "minute": _MINUTE, "min": _MINUTE, "m": _MINUTE,
    "second": SECOND, "sec": SECOND, "s": SECOND, "millisecond": 1000, "msec": 1000, "ms": 1000,
    "microsecond": 1, "usec": 1, "us": 1,
}  # fmt: skip
_UNITS = {**_MONTHS, **_DAYS, **_MICROSECONDS}
_PART = re.compile(
    r"\s*(?:([+-]?)(\d+):(\d+)(?::(\d+(?:\.\d*)?))?|([+-]?(?:\d+\.?\d*|\.\d+))\s*([a-z]+)?)\s*"
)
_ISO = re.compile(
    r"P(?:(?P<y>[+-]?[\d.]+)Y)?(?:(?P<mon>[+-]?[\d.]+)M)?(?:(?P<w>[+-]?[\d.]+)W)?(?:(?P<d>[+-]?[\d.]+)D)?"
    r"(?:T(?:(?P<h>[+-]?[\d.]+)H)?(?:(?P<m>[+-]?[\d.]+)M)?(?:(?P<s>[+-]?[\d.]+)S)?)?"
)
_MONTH_DAYS = 30  # of the fraction of a month, as PostgreSQL has it


def duckdb_interval(months: int, days: int, micros: int) -> str:
    """DuckDB's words for an interval."""
    return f"{months} months {days} days {micros} microseconds"


def read_interval(text: str) -> tuple[int, int, int]:
    """The months, days and microseconds of a text such as 1 year 2 mons -3 days +04:05:06.7.

    Raises:
        ProtocolError: it is none of the forms (22007).
    """
    words = text.strip()
    if found := _ISO.fullmatch(words):
        return _sum(_iso_parts(found.groupdict(), text), text)
    words = words.lower().removeprefix("@")
    backwards = words.endswith(" ago")
    months, days, micros = _sum(_parts(words.removesuffix(" ago"), text), text)
    return (-months, -days, -micros) if backwards else (months, days, micros)


def _iso_parts(found: dict[str, str | None], text: str) -> Iterator[tuple[Decimal, str]]:
    parts = [(value, unit) for unit, value in found.items() if value is not None]
    if not parts:
        raise _wrong(text)
    for value, unit in parts:
        try:
            yield Decimal(value), unit
        except InvalidOperation as error:
            raise _wrong(text) from error


def _parts(words: str, text: str) -> Iterator[tuple[Decimal, str]]:
    """Each number with its unit; a time of day is hours, minutes and seconds."""
    at = 0
    while at < len(words) or not words:
        found = _PART.match(words, at)
        if not found:
            raise _wrong(text)
        at = found.end()
        sign, hours, minutes, seconds, number, unit = found.groups()
        if hours:
            for value, of in ((hours, "h"), (minutes, "m"), (seconds or "0", "s")):
                yield Decimal(value) * (-1 if sign == "-" else 1), of
        else:
            yield Decimal(number), unit or "s"


def _sum(parts: Iterable[tuple[Decimal, str]], text: str) -> tuple[int, int, int]:
    """All in months, days and microseconds; what is left of a month or day goes into the smaller units."""
    months, days, micros = Decimal(0), Decimal(0), Decimal(0)
    for value, written in parts:
        unit = written if written in _UNITS else written.removesuffix("s")
        if unit in _MONTHS:
            months += value * _MONTHS[unit]
        elif unit in _DAYS:
            days += value * _DAYS[unit]
        elif unit in _MICROSECONDS:
            micros += value * _MICROSECONDS[unit]
        else:
            raise _wrong(text)
    days += (months - int(months)) * _MONTH_DAYS
    micros += (days - int(days)) * DAY
    return int(months), int(days), int(micros.to_integral_value())


def _wrong(text: str) -> ProtocolError:
    return ProtocolError(f'invalid input syntax for type interval: "{text[:80]}"', "22007")
