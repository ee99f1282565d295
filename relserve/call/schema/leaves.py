"""Types that hold no others and are no numbers."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from random import Random
from typing import Any, NamedTuple

from relserve.call.schema.shape import TEXT_CHARS, JsonSchema, PatternShape, SchemaShape, literal, misfit

# A text has no bound here: with one, xgrammar compiles for 30 s over a vocabulary of 262,144 tokens. `read`
# and max_tokens bound it. Escapes stand apart from plain characters, which makes masks cheap.
_PLAIN = r'[^"\\\x01-\x1f]'
_DAY = (
    r"[12][0-9]{3}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    r"|02-(0[1-9]|[12][0-9]))"
)
_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"


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
class BoolShape(SchemaShape):
    """BOOLEAN."""

    words: str = "true or false"
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
class EnumShape(SchemaShape):
    """ENUM: one of the given texts."""

    values: tuple[str, ...]

    @property
    def words(self) -> str:
        return " or ".join(f'"{value}"' for value in self.values)

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
class ClockShape(PatternShape):
    """DATE, TIME or TIMESTAMP; years from 1000 to 2999 under a grammar."""

    sql_type: str

    @property
    def words(self) -> str:
        return _CLOCKS[self.sql_type].words

    @property
    def longest(self) -> str:
        return f'"{_CLOCKS[self.sql_type].sample}"'

    @property
    def pattern(self) -> str:
        return _CLOCKS[self.sql_type].pattern

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
