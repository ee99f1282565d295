"""Types that hold no others. Numbers that are not whole are JSON strings under a pattern, which bounds their
digits and keeps them exact; a JSON number would do neither.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from random import Random
from typing import Any, NamedTuple

from relserve.call.schema.shape import TEXT_CHARS, JsonSchema, literal, misfit

MAX_DIGITS = 18  # of whole numbers under a grammar; more fit a HUGEINT, but nobody extracts them
EXACT_IN_JSON = 2**53  # JSON readers may take numbers for doubles

# A text has no bound here: with one, xgrammar compiles for 30 s over a vocabulary of 262,144 tokens. `read`
# and max_tokens bound it. Escapes stand apart from plain characters, which makes masks cheap.
_PLAIN = r'[^"\\\x01-\x1f]'
_DAY = (
    r"[12][0-9]{3}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    r"|02-(0[1-9]|[12][0-9]))"
)
_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_FLOAT = r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,6})?(e-?[0-9]{1,2})?"
_NUMBER = re.compile(r"-?[0-9]{1,400}(\.[0-9]{1,400})?([eE][-+]?[0-9]{1,3})?", re.ASCII)


def json_number(text: str) -> Decimal | float:
    """A JSON number that is not whole; infinity for one out of all bounds."""
    return Decimal(text) if _NUMBER.fullmatch(text) else math.inf


@dataclass(frozen=True)
class TextShape:
    """VARCHAR."""

    words: str = "text"
    max_chars: int = TEXT_CHARS + 2
    longest: None = None

    def regex(self) -> str:
        return rf'"{_PLAIN}*(\\["\\/bnrt]{_PLAIN}*)*"'

    def json_schema(self) -> JsonSchema:
        return {"type": "string"}

    def read(self, value: Any, where: str) -> str:
        if not isinstance(value, str):
            raise misfit(value, where, "a text")
        return value

    def sample(self, random: Random) -> str:
        return f"text {random.randrange(100)}"


@dataclass(frozen=True)
class BoolShape:
    """BOOLEAN."""

    words: str = "true or false"
    max_chars: int = 5
    longest: str = "false"

    def regex(self) -> str:
        return "(true|false)"

    def json_schema(self) -> JsonSchema:
        return {"type": "boolean"}

    def read(self, value: Any, where: str) -> bool:
        if not isinstance(value, bool):
            raise misfit(value, where, "true or false")
        return value

    def sample(self, random: Random) -> bool:
        return random.random() < 0.5


@dataclass(frozen=True)
class WholeShape:
    """A type of whole numbers from `lo` to `hi`."""

    sql_type: str
    lo: int
    hi: int
    words: str = "whole number"

    @property
    def max_chars(self) -> int:
        return min(MAX_DIGITS, len(str(self.hi))) + 1

    @property
    def longest(self) -> str:
        return ("-" if self.lo < 0 else "") + str(min(self.hi, 10**MAX_DIGITS - 1))

    def regex(self) -> str:
        return ("-?" if self.lo < 0 else "") + up_to(min(self.hi, 10**MAX_DIGITS - 1))

    def json_schema(self) -> JsonSchema:
        most = 10**MAX_DIGITS - 1
        return {"type": "integer", "minimum": max(self.lo, -most), "maximum": min(self.hi, most)}

    def read(self, value: Any, where: str) -> int | str:
        number = _number(value)
        if number is None or _num_decimals(number) or not self.lo <= number <= self.hi:
            raise misfit(value, where, f"a whole number that fits {self.sql_type}")
        whole = int(number)
        return whole if abs(whole) < EXACT_IN_JSON else str(whole)

    def sample(self, random: Random) -> int:
        return random.randint(max(self.lo, 0), min(self.hi, 100))


@dataclass(frozen=True)
class DecimalShape:
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
    def _pattern(self) -> str:
        before = self.width - self.scale
        whole = f"(0|[1-9][0-9]{{0,{before - 1}}})" if before else "0"
        return f"-?{whole}" + (rf"(\.[0-9]{{1,{self.scale}}})?" if self.scale else "")

    def regex(self) -> str:
        return f'"{self._pattern}"'

    def json_schema(self) -> JsonSchema:
        return _matching(self._pattern)

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
class FloatShape:
    """DOUBLE or FLOAT, whose largest number is `most`."""

    sql_type: str
    most: float
    words: str = "number"
    max_chars: int = 30
    longest: str = '"-999999999999999.999999e-99"'

    def regex(self) -> str:
        return f'"{_FLOAT}"'

    def json_schema(self) -> JsonSchema:
        return _matching(_FLOAT)

    def read(self, value: Any, where: str) -> float:
        number = _number(value)
        if number is None or not -self.most <= float(number) <= self.most:
            raise misfit(value, where, f"a number that fits {self.sql_type}")
        return float(number)

    def sample(self, random: Random) -> str:
        return f"{random.randrange(1000) / 10}"


@dataclass(frozen=True)
class EnumShape:
    """ENUM: one of the given texts."""

    values: tuple[str, ...]

    @property
    def words(self) -> str:
        return " or ".join(f'"{value}"' for value in self.values)

    @property
    def max_chars(self) -> int:
        return len(self.longest)

    @property
    def longest(self) -> str:
        return max((json.dumps(value, ensure_ascii=False) for value in self.values), key=len)

    def regex(self) -> str:
        return f"({'|'.join(map(literal, self.values))})"

    def json_schema(self) -> JsonSchema:
        return {"type": "string", "enum": list(self.values)}

    def read(self, value: Any, where: str) -> str:
        if value not in self.values:
            raise misfit(value, where, f"one of {list(self.values)}")
        return str(value)

    def sample(self, random: Random) -> str:
        return random.choice(self.values)


class _Clock(NamedTuple):
    """How values of a type of time are spelled and read."""

    words: str
    pattern: str  # of the grammar
    reads: str  # what is taken for one; a grammar is stricter
    parse: Any
    sample: datetime | date | time


_CLOCKS = {
    "DATE": _Clock('"YYYY-MM-DD"', _DAY, r"\d{4}-\d\d-\d\d", date.fromisoformat, date(2024, 1, 1)),
    "TIME": _Clock(
        '"HH:MM:SS"', _CLOCK, r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?", time.fromisoformat, time(12, 30)
    ),
    "TIMESTAMP": _Clock(
        '"YYYY-MM-DD HH:MM:SS"', f"{_DAY} {_CLOCK}", r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?",
        datetime.fromisoformat, datetime(2024, 1, 1, 12, 30),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class ClockShape:
    """DATE, TIME or TIMESTAMP; years from 1000 to 2999 under a grammar."""

    sql_type: str

    @property
    def words(self) -> str:
        return _CLOCKS[self.sql_type].words

    @property
    def max_chars(self) -> int:
        return len(self.words)

    @property
    def longest(self) -> str:
        return f'"{_CLOCKS[self.sql_type].sample}"'

    def regex(self) -> str:
        return f'"{_CLOCKS[self.sql_type].pattern}"'

    def json_schema(self) -> JsonSchema:
        return _matching(_CLOCKS[self.sql_type].pattern)

    def read(self, value: Any, where: str) -> str:
        clock = _CLOCKS[self.sql_type]
        try:
            if isinstance(value, str) and re.fullmatch(clock.reads, value, re.ASCII):
                return str(clock.parse(value))
        except ValueError:
            pass  # looks like one, such as 2023-02-29, and is none
        raise misfit(value, where, f"a {self.sql_type}, {clock.words}")

    def sample(self, random: Random) -> str:
        sample = _CLOCKS[self.sql_type].sample
        return str(sample + timedelta(random.randrange(366)) if isinstance(sample, date) else sample)


def up_to(most: int) -> str:
    """A regex for the whole numbers from 0 to `most`, which has at least two digits."""
    digits = str(most)
    num = len(digits)
    shorter = rf"[1-9][0-9]{{0,{num - 2}}}"
    # as long as `most`, the same up to one digit and smaller there
    smaller = [
        f"{digits[:i]}[{1 if i == 0 else 0}-{int(digit) - 1}]" + (f"[0-9]{{{rest}}}" if rest else "")
        for i, (digit, rest) in enumerate(zip(digits, reversed(range(num)), strict=True))
        if int(digit) > (1 if i == 0 else 0)
    ]
    return f"({'|'.join(['0', shorter, *smaller, digits])})"


def _matching(regex: str) -> JsonSchema:
    return {"type": "string", "pattern": f"^{regex}$"}


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
