"""Days told from today: today, yesterday, last month, this year."""

from __future__ import annotations

from datetime import date, timedelta

from relserve.linking.dates import Period

_DAYS = {"today": 0, "yesterday": -1, "tomorrow": 1}
_STEPS = {"this": 0, "current": 0, "last": -1, "previous": -1, "next": 1}


def relative_period(words: list[str], at: int, today: date) -> tuple[Period, int] | None:
    """The period that begins at a token, with the number of its tokens. "The last year" is no such thing."""
    if words[at] in _DAYS:
        day = today + timedelta(days=_DAYS[words[at]])
        return Period(day, day), 1
    if words[at] not in _STEPS or at + 1 == len(words) or (at and words[at - 1] == "the"):
        return None
    step, unit = _STEPS[words[at]], words[at + 1]
    if unit == "week":
        monday = today - timedelta(days=today.weekday() - 7 * step)
        return Period(monday, monday + timedelta(days=6)), 2
    if unit == "month":
        first = _month(12 * today.year + today.month - 1 + step)
        return Period(first, _month(12 * first.year + first.month) - timedelta(days=1)), 2
    if unit == "year":
        year = today.year + step
        return Period(date(year, 1, 1), date(year, 12, 31)), 2
    return None


def _month(number: int) -> date:
    """The first day of a month, counted from the year 0."""
    return date(number // 12, number % 12 + 1, 1)
