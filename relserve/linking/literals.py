"""Values that a question writes out: quoted text, numbers, years and dates."""

from __future__ import annotations

import re
from datetime import date
from enum import StrEnum
from typing import NamedTuple

from relserve.linking.lexicon import NUMBER_WORDS
from relserve.linking.values import ValueHit

_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)(k|m|bn|mn)?", re.IGNORECASE)
_SCALES = {"k": 3, "m": 6, "mn": 6, "bn": 9, "thousand": 3, "million": 6, "billion": 9}
_YEAR = re.compile(r"(1[5-9]|20|21)\d\d")
_PLAIN_NUMBER = re.compile(r"-?\d{1,30}(\.\d{1,30})?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class ValueKind(StrEnum):
    """What a value of the question is; the model reads it as <kind>."""

    TEXT = "str"
    NUMBER = "num"
    YEAR = "year"
    DATE = "date"


class QuestionValue(NamedTuple):
    """A value of the question, and where the database holds it."""

    kind: ValueKind
    text: str
    hits: tuple[ValueHit, ...] = ()

    def spellings(self, table: str, column: str) -> tuple[str, ...]:
        """How the database spells it in that column, as far as is known."""
        return tuple(
            dict.fromkeys(hit.value for hit in self.hits if (hit.table, hit.column) == (table, column))
        )

    @property
    def number(self) -> str | None:
        """The number, where it can be read as one."""
        return self.text if _PLAIN_NUMBER.fullmatch(self.text) else None

    @property
    def days(self) -> tuple[date, date] | None:
        """The first and the last day that it names, where it can be read as a date."""
        if not _DATE.fullmatch(self.text):
            return None
        try:
            day = date.fromisoformat(self.text)
        except ValueError:
            return None
        return day, day

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
        return re.fullmatch(r"\d{1,9}", self.text) is not None


def literal_at(words: list[str], at: int) -> tuple[QuestionValue, int] | None:
    """The number or date that begins at a token, with the number of its tokens."""
    word = words[at]
    if _DATE.fullmatch(word):
        return QuestionValue(ValueKind.DATE, word), 1
    number = _NUMBER.fullmatch(word.replace(",", ""))
    if number is None:
        spoken = NUMBER_WORDS.get(word)
        return None if spoken is None else (QuestionValue(ValueKind.NUMBER, str(spoken)), 1)
    if _YEAR.fullmatch(word):
        return QuestionValue(ValueKind.YEAR, word), 1
    following = words[at + 1] if at + 1 < len(words) else ""
    scale = number[2] or (following if following in _SCALES else "")
    text = _scaled(number[1], _SCALES.get(scale.casefold(), 0))
    return QuestionValue(ValueKind.NUMBER, text), 1 + (scale == following and bool(scale))


def _scaled(digits: str, exponent: int) -> str:
    """Move the decimal point: "1.5" and 3 give "1500"."""
    whole, _, part = digits.partition(".")
    moved = whole + part[:exponent].ljust(exponent, "0")
    rest = part[exponent:]
    return moved + ("." + rest if rest else "")
