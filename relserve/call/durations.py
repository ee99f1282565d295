"""Lengths of time as users write them: seconds, an interval of Python's or DuckDB's, or a text."""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import Any

from relserve.errors import OptionError

SHORTEST_S, LONGEST_S = 0.001, 7 * 86400.0
EXAMPLE = "30, '30 s' or INTERVAL 30 SECOND"
_UNITS = {  # DuckDB's own; a month, as it counts one, is longer than any duration may be
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 0.001),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
    **dict.fromkeys(("w", "week", "weeks"), 7 * 86400.0),
    **dict.fromkeys(("mon", "month", "months"), 30 * 86400.0),
    **dict.fromkeys(("y", "year", "years"), 360 * 86400.0),
}
_NUMBER = r"-?\d{1,15}(?:\.\d{0,9})?"
_PART = re.compile(rf"\s*({_NUMBER})\s*([a-z]+)\s*,?")
_CLOCK = re.compile(r"\s*(-?)(\d{1,9}):([0-5]\d):([0-5]\d(?:\.\d{1,9})?)\s*$")


def seconds_of(name: str, value: Any) -> float:
    """A length of time in seconds.

    Args:
        name: of what it is given for.
        value: a number of seconds, a timedelta, or a text: '30', '30 s', '1 hour 30 minutes', '00:00:30'.

    Raises:
        OptionError: it is none, or not from 0.001 s to 7 days; the message says what is allowed.
    """
    found = value.total_seconds() if isinstance(value, timedelta) else value
    found = _read(found) if isinstance(found, str) else found
    if isinstance(found, bool) or not isinstance(found, (int, float)) or math.isnan(found):
        raise OptionError(f"{name} must be a length of time, in seconds or as in {EXAMPLE}, not {value!r}")
    if not SHORTEST_S <= found <= LONGEST_S:
        raise OptionError(f"{name} must be from {SHORTEST_S} seconds to 7 days, as in {EXAMPLE}, not {value}")
    return float(found)


def _read(text: str) -> float | None:
    """Seconds; None where the text is no length of time."""
    text = text.strip().lower()
    if re.fullmatch(_NUMBER, text):
        return float(text)
    seconds, place = 0.0, 0
    while place < len(text):
        if clock := _CLOCK.match(text, place):  # how DuckDB writes what is left of a day
            hours, minutes, rest = map(float, clock.groups()[1:])
            sign = -1 if clock[1] else 1
            return seconds + sign * (hours * 3600 + minutes * 60 + rest)
        part = _PART.match(text, place)
        if part is None or part[2] not in _UNITS:
            return None
        seconds += float(part[1]) * _UNITS[part[2]]
        place = part.end()
    return seconds if text else None
