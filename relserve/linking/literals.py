"""Values that a question writes out: quoted text, numbers, years and dates."""

from __future__ import annotations

import re
from datetime import date, timedelta
from enum import StrEnum
from typing import NamedTuple

from relserve.linking.dates import AmbiguousDateError, Period, period_at, written_period
from relserve.linking.lexicon import NUMBER_WORDS, ONE_AFTER
from relserve.linking.values import ValueHit

_NUMBER = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)(k|m|bn|mn)?", re.IGNORECASE)
_SCALES = {"k": 3, "m": 6, "mn": 6, "bn": 9, "thousand": 3, "million": 6, "billion": 9}
_YEAR = re.compile(r"(1[5-9]|20|21)[0-9][0-9]")
_PLAIN_NUMBER = re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?")
_COUNT = re.compile(r"[0-9]{1,9}")
_DAYS = {"today": 0, "yesterday": -1, "tomorrow": 1}
_STEPS = {"this": 0, "current": 0, "last": -1, "previous": -1, "next": 1}


class ValueKind(StrEnum):
    """What a value of the question is; the model reads it as <kind>."""

    TEXT = "str"
    NUMBER = "num"
    YEAR = "year"
    DATE = "date"


class QuestionValue(NamedTuple):
    """A value of the question; `hits`: where the database holds it; `period`: the days that it names."""

    kind: ValueKind
    text: str
    hits: tuple[ValueHit, ...] = ()
    period: Period | None = None

    def spellings(self, table: str, column: str) -> tuple[str, ...]:
        """How the database spells it in that column, as far as is known."""
        return tuple(dict.fromkeys(hit.value for hit in self.hits if hit[:2] == (table, column)))

    @property
    def number(self) -> str | None:
        """The number, where it can be read as one."""
        return self.text if self.period is None and _PLAIN_NUMBER.fullmatch(self.text) else None

    @property
    def is_year(self) -> bool:
        return self.kind is ValueKind.YEAR

    @property
    def is_text(self) -> bool:
        """Whether it may be compared with a text: written as one, or held by a text column."""
        return self.kind is ValueKind.TEXT or bool(self.hits)

    @property
    def is_count(self) -> bool:
        """Whether it can limit a number of rows."""
        return self.kind is ValueKind.NUMBER and _COUNT.fullmatch(self.text) is not None


def quoted_text(text: str, hits: tuple[ValueHit, ...]) -> QuestionValue:
    """A value in quotes: a text, which may also be read as a date."""
    try:
        period = written_period(text)
    except AmbiguousDateError:
        period = None
    return QuestionValue(ValueKind.TEXT, text, hits, period)


def literal_at(words: list[str], at: int, today: date) -> tuple[QuestionValue, int] | None:
    """The number or date that begins at a token, with the number of its tokens. Raises AmbiguousDateError."""
    dated = period_at(words, at) or _relative_period(words, at, today)
    if dated is not None:
        period, used = dated
        if words[at + used - 1] == "year":
            return QuestionValue(ValueKind.YEAR, str(period.first.year)), used
        return QuestionValue(ValueKind.DATE, " ".join(words[at : at + used]), period=period), used
    word = words[at]
    number = _NUMBER.fullmatch(word.replace(",", ""))
    if number is None:
        spoken = 1 if word == "one" and at and words[at - 1] in ONE_AFTER else NUMBER_WORDS.get(word)
        return None if spoken is None else _scaled_at(words, at, str(spoken))
    if _YEAR.fullmatch(word):
        return QuestionValue(ValueKind.YEAR, word), 1
    if number[2]:
        return QuestionValue(ValueKind.NUMBER, _scaled(number[1], _SCALES[number[2].casefold()])), 1
    return _scaled_at(words, at, number[1])


def _scaled_at(words: list[str], at: int, digits: str) -> tuple[QuestionValue, int]:
    """A number, times a thousand where that word follows."""
    scale = words[at + 1] if at + 1 < len(words) and len(words[at + 1]) > 1 else ""
    text = _scaled(digits, _SCALES.get(scale, 0))
    return QuestionValue(ValueKind.NUMBER, text), 2 if scale in _SCALES else 1


def _scaled(digits: str, exponent: int) -> str:
    """Move the decimal point: "1.5" and 3 give "1500"."""
    whole, _, part = digits.partition(".")
    rest = part[exponent:]
    return whole + part[:exponent].ljust(exponent, "0") + ("." + rest if rest else "")


def _relative_period(words: list[str], at: int, today: date) -> tuple[Period, int] | None:
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
