"""Time zones of a fixed offset, as PostgreSQL reads them and as DuckDB does: their signs are opposite."""

from __future__ import annotations

import re

_HOURS = re.compile(r"[+-]?+\d++(?:\.\d*+)?+|[+-]?+\.\d++")
_POSIX = re.compile(
    r"(?:[A-Za-z]++|<[\w+-]++>)?+(?P<sign>[+-]?+)(?P<hours>\d{1,2}+)(?::(?P<minutes>[0-5]\d))?+"
)
_OURS = re.compile(r"GMT(?P<sign>[+-])(?P<hours>\d\d):(?P<minutes>\d\d)")
_MOST_S = 15 * 3600  # beyond it, no place on earth is


def read_zone(value: str) -> tuple[str, str]:
    """What SHOW TimeZone gives for a value, and DuckDB's name of the zone.

    A number is hours east of Greenwich; POSIX, whose form all other offsets have, counts to the west:
    '-02:00', 'UTC-2' and '<+02>-2' are all east of it.
    """
    if _HOURS.fullmatch(value):
        minutes = round(float(value) * 60)
        clock = _clock(minutes).removesuffix(":00")
        return f"<{clock}>{_clock(-minutes).removesuffix(':00')}", _duckdbs(value, minutes * 60)
    if found := _POSIX.fullmatch(value):
        return value, _duckdbs(value, -_seconds(found))
    return value, value


def fixed_offset_s(zone: str) -> int | None:
    """The offset of a zone that `read_zone` has named, in seconds to the east; None: another zone."""
    found = _OURS.fullmatch(zone)
    return None if found is None else _seconds(found)


def _seconds(found: re.Match[str]) -> int:
    seconds = int(found["hours"]) * 3600 + int(found["minutes"] or 0) * 60
    return -seconds if found["sign"] == "-" else seconds


def _duckdbs(value: str, seconds: int) -> str:
    """DuckDB's name; of an offset that nobody has the value itself, which DuckDB refuses."""
    return f"GMT{_clock(seconds // 60)}" if abs(seconds) <= _MOST_S else value


def _clock(minutes: int) -> str:
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02}:{rest:02}"
