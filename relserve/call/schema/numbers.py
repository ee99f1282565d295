"""Types of numbers. Those that are not whole are JSON strings under a pattern, which bounds their digits and
keeps them exact; a JSON number would do neither.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random
from typing import Any

from relserve.call.schema.ranges import between
from relserve.call.schema.shape import JsonSchema, PatternShape, SchemaShape, misfit

MAX_DIGITS = 18  # of whole numbers under a grammar; more fit a HUGEINT, but nobody extracts them
FLOAT_DIGITS = 15  # before the point, of numbers that are not whole
EXACT_IN_JSON = 2**53  # JSON readers may take numbers for doubles

_NUMBER = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?([eE][-+]?[0-9]{1,3})?", re.ASCII)


def json_number(text: str) -> Decimal | float:
    """A JSON number that is not whole; infinity for one out of all bounds."""
    return Decimal(text) if _NUMBER.fullmatch(text) else math.inf


@dataclass(frozen=True)
class WholeShape(SchemaShape):
    """A type of whole numbers from `lo` to `hi`."""

    sql_type: str
    lo: int
    hi: int
    words: str = "whole number"

    def within(self, lo: float | None, hi: float | None) -> WholeShape:
        """Those of them from `lo` to `hi`; None leaves the bound of the type."""
        least, most = self.lo if lo is None else int(lo), self.hi if hi is None else int(hi)
        return replace(self, lo=least, hi=most, words=self.words + _told(lo, hi))

    @property
    def longest(self) -> str:
        return max(map(str, self._written), key=len)

    @property
    def _written(self) -> tuple[int, int]:
        """The least and the greatest that a grammar lets a model write."""
        most = 10**MAX_DIGITS - 1
        return max(self.lo, -most), min(self.hi, most)

    def regex(self) -> str:
        return between(*self._written)

    def json_schema(self) -> JsonSchema:
        least, most = self._written
        return {"type": "integer", "minimum": least, "maximum": most}

    def read(self, value: Any, where: str) -> int | str:
        number = _number(value)
        if number is None or _num_decimals(number) or not self.lo <= number <= self.hi:
            raise misfit(value, where, f"a {self.words} that fits {self.sql_type}")
        whole = int(number)
        return whole if abs(whole) < EXACT_IN_JSON else str(whole)

    def sample(self, random: Random) -> int:
        least = min(max(self.lo, 0), self.hi)
        return random.randint(least, min(self.hi, least + 100))


@dataclass(frozen=True)
class DecimalShape(PatternShape):
    """DECIMAL(width, scale)."""

    width: int
    scale: int
    words: str = "decimal number"

    @property
    def max_chars(self) -> int:
        return self.width + 5

    @property
    def longest(self) -> str:
        whole = "9" * (self.width - self.scale) or "0"
        return f'"-{whole}{"." if self.scale else ""}{"9" * self.scale}"'

    @property
    def pattern(self) -> str:
        before = self.width - self.scale
        whole = f"(0|[1-9][0-9]{{0,{before - 1}}})" if before else "0"
        return f"-?{whole}" + (rf"(\.[0-9]{{1,{self.scale}}})?" if self.scale else "")

    def read(self, value: Any, where: str) -> str:
        number = _number(value)
        limit = Decimal(10) ** (self.width - self.scale)
        if number is None or not -limit < number < limit or _num_decimals(number) > self.scale:
            raise misfit(value, where, f"a number that fits DECIMAL({self.width},{self.scale})")
        return f"{number:.{self.scale}f}"

    def sample(self, random: Random) -> str:
        digits = random.randrange(10 ** min(self.width, self.scale + 2))
        return f"{Decimal(digits).scaleb(-self.scale):.{self.scale}f}"


@dataclass(frozen=True)
class FloatShape(PatternShape):
    """DOUBLE or FLOAT, from `lo` to `hi`; a grammar keeps to their sign and digits."""

    sql_type: str
    lo: float
    hi: float
    words: str = "number"

    def within(self, lo: float | None, hi: float | None) -> FloatShape:
        """Those of them from `lo` to `hi`; None leaves the bound of the type."""
        least, most = self.lo if lo is None else lo, self.hi if hi is None else hi
        return replace(self, lo=least, hi=most, words=self.words + _told(lo, hi))

    @property
    def _digits(self) -> int:
        """Before the point, at most."""
        most = max(abs(self.lo), abs(self.hi))
        return len(str(int(most))) if most < 10**FLOAT_DIGITS else FLOAT_DIGITS

    @property
    def pattern(self) -> str:
        exponent = "(e-?[0-9]{1,2})?" if self._digits == FLOAT_DIGITS else ""
        whole = f"(0|[1-9][0-9]{{0,{self._digits - 1}}})"
        return ("-?" if self.lo < 0 else "") + whole + r"(\.[0-9]{1,6})?" + exponent

    @property
    def longest(self) -> str:
        exponent = "e-99" if self._digits == FLOAT_DIGITS else ""
        return f'"{"-" if self.lo < 0 else ""}{"9" * self._digits}.999999{exponent}"'

    def read(self, value: Any, where: str) -> float:
        number = _number(value)
        if number is None or not self.lo <= float(number) <= self.hi:
            raise misfit(value, where, f"a {self.words} that fits {self.sql_type}")
        return float(number)

    def sample(self, random: Random) -> str:
        least = min(max(self.lo, 0.0), self.hi)
        drawn = round(random.uniform(least, min(self.hi, least + 100.0)), 1)
        return f"{min(max(drawn, self.lo), self.hi)}"


def _told(lo: float | None, hi: float | None) -> str:
    if lo is None:
        return "" if hi is None else f" of at most {hi:.15g}"
    return f" of at least {lo:.15g}" if hi is None else f" from {lo:.15g} to {hi:.15g}"


def _number(value: Any) -> Decimal | None:
    """A number as JSON or as a text spells it; None for what is none."""
    if isinstance(value, str):
        return Decimal(value) if _NUMBER.fullmatch(value) else None
    return Decimal(value) if isinstance(value, (int, Decimal)) and not isinstance(value, bool) else None


def _num_decimals(number: Decimal) -> int:
    """How many digits it needs after the point."""
    _, digits, exponent = number.as_tuple()
    spelled = "".join(map(str, digits)).lstrip("0")
    return max(0, -int(exponent) - (len(spelled) - len(spelled.rstrip("0")))) if spelled else 0
