"""Days and periods as people write them: 2023-05-01, 1 May 2023, May 2023, Q2 2023."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import NamedTuple

_ISO = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})")
_ISO_MONTH = re.compile(r"(\d{4})[-/](\d{1,2})")
_NUMERIC = re.compile(r"(\d{1,2})([-/.])(\d{1,2})\2(\d{4})")
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?")
_YEAR = re.compile(r"(?:1[0-9]|20|21)\d\d")
_DECADE = re.compile(r"((?:1[5-9]|20|21)\d)0s")
_QUARTER = re.compile(r"q([1-4])")

_MONTH_NAMES = "january february march april may june july august september october november december".split()
MONTHS = (
    {name: number for number, name in enumerate(_MONTH_NAMES, 1)}
    | {name[:3]: number for number, name in enumerate(_MONTH_NAMES, 1)}
    | {"sept": 9}
)
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4}


class Period(NamedTuple):
    """A day, or several, by the first and the last of them."""

    first: date
    last: date


class AmbiguousDateError(ValueError):
    """A date whose day and month cannot be told apart."""


def period_at(words: list[str], at: int) -> tuple[Period, int] | None:
    """The period that begins at a token, with the number of its tokens. Raises AmbiguousDateError."""
    written = written_period(words[at])
    if written is not None:
        return written, 1
    after = [word for word in words[at : at + 6] if word not in (",", "of", "the")]
    if words[at] in (",", "of", "the"):
        return None
    for reader in (_day_of_month, _month_day, _month, _quarter):
        found = reader(after)
        if found is not None:
            return found[0], _consumed(words, at, found[1])
    return None


def written_period(word: str) -> Period | None:
    """A date of digits, in one token. Raises AmbiguousDateError."""
    if match := _ISO.fullmatch(word):
        return _single(int(match[1]), int(match[2]), int(match[3]))
    if match := _ISO_MONTH.fullmatch(word):
        return _of_month(int(match[1]), int(match[2]))
    if match := _DECADE.fullmatch(word):
        return Period(date(int(match[1]) * 10, 1, 1), date(int(match[1]) * 10 + 9, 12, 31))
    if match := _NUMERIC.fullmatch(word):
        first, second, year = int(match[1]), int(match[3]), int(match[4])
        if match[2] == "." or first > 12 or first == second:
            return _single(year, second, first)
        if second > 12:
            return _single(year, first, second)
        raise AmbiguousDateError(
            f"{word} may be {year}-{first:02}-{second:02} or {year}-{second:02}-{first:02}"
        )
    return None


def _consumed(words: list[str], at: int, count: int) -> int:
    """How many tokens the first `count` counted ones take, with the commas between them."""
    used = 0
    while count:
        count -= words[at + used] not in (",", "of", "the")
        used += 1
    return used


def _day_of_month(words: list[str]) -> tuple[Period, int] | None:
    """1 May 2023."""
    if (
        len(words) < 3
        or words[1] not in MONTHS
        or not _DAY.fullmatch(words[0])
        or not _YEAR.fullmatch(words[2])
    ):
        return None
    day = _single(int(words[2]), MONTHS[words[1]], _number(words[0]))
    return None if day is None else (day, 3)


def _month_day(words: list[str]) -> tuple[Period, int] | None:
    """May 1, 2023."""
    if (
        len(words) < 3
        or words[0] not in MONTHS
        or not _DAY.fullmatch(words[1])
        or not _YEAR.fullmatch(words[2])
    ):
        return None
    day = _single(int(words[2]), MONTHS[words[0]], _number(words[1]))
    return None if day is None else (day, 3)


def _month(words: list[str]) -> tuple[Period, int] | None:
    """May 2023."""
    if len(words) < 2 or words[0] not in MONTHS or not _YEAR.fullmatch(words[1]):
        return None
    month = _of_month(int(words[1]), MONTHS[words[0]])
    return None if month is None else (month, 2)


def _quarter(words: list[str]) -> tuple[Period, int] | None:
    """Q2 2023, second quarter of 2023."""
    if len(words) > 1 and (match := _QUARTER.fullmatch(words[0])) and _YEAR.fullmatch(words[1]):
        return _of_quarter(int(words[1]), int(match[1])), 2
    if len(words) > 2 and words[1] == "quarter" and words[0] in _ORDINALS and _YEAR.fullmatch(words[2]):
        return _of_quarter(int(words[2]), _ORDINALS[words[0]]), 3
    return None


def _number(word: str) -> int:
    return int(re.sub(r"\D", "", word))


def _single(year: int, month: int, day: int) -> Period | None:
    try:
        found = date(year, month, day)
    except ValueError:  # the 30th of February
        return None
    return Period(found, found)


def _of_month(year: int, month: int) -> Period | None:
    first = _single(year, month, 1)
    if first is None:
        return None
    following = date(year + month // 12, month % 12 + 1, 1)
    return Period(first.first, following - timedelta(days=1))


def _of_quarter(year: int, quarter: int) -> Period:
    following = date(year + quarter // 4, quarter % 4 * 3 + 1, 1)
    return Period(date(year, 3 * quarter - 2, 1), following - timedelta(days=1))
