"""Answer types: what a reply may be, how the engine is held to it, and how it becomes a SQL value."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from relserve.errors import Failure, FailureKind

MAX_LISTED_NUMBERS = 1001  # a score with at most so many possible values is decoded as a choice
SCORE_STEP = 0.01  # between the values of a score whose bounds are not whole


@dataclass(frozen=True)
class Grammar:
    """What the engine may decode: one of `choices`, or a full match of `regex` (exactly one is set)."""

    choices: tuple[str, ...] = ()
    regex: str = ""

    @property
    def max_bytes(self) -> int:
        """UTF-8 length of the longest allowed reply; no tokenizer needs more tokens than that."""
        return max((len(c.encode()) for c in self.choices), default=32)


class Answer(NamedTuple):
    """One row's answer: a value of the answer's SQL type, or why there is none."""

    value: Any
    failure: Failure | None = None


class AnswerType(Protocol):
    """The type of a function's answers."""

    @property
    def sql_type(self) -> str:
        """The DuckDB type of the values."""

    @property
    def default_max_tokens(self) -> int:
        """Output cap of a request when the call sets none, in tokens."""

    @property
    def instruction(self) -> str:
        """One line put before the prompt, "" for none."""

    @property
    def grammar(self) -> Grammar | None:
        """What the reply must match; None for free text."""

    def parse(self, text: str) -> Answer:
        """The SQL value that `text` spells, or a failure; never a guess."""


@dataclass(frozen=True)
class Text:
    """Free text: VARCHAR."""

    sql_type: str = "VARCHAR"
    default_max_tokens: int = 256
    instruction: str = ""
    grammar: Grammar | None = None

    def parse(self, text: str) -> Answer:
        return Answer(text.strip())


@dataclass(frozen=True)
class Choice:
    """One of the given texts: VARCHAR."""

    choices: tuple[str, ...]
    sql_type: str = "VARCHAR"

    @property
    def instruction(self) -> str:
        return f"Answer with exactly one of: {', '.join(self.choices)}."

    @cached_property
    def grammar(self) -> Grammar:
        return Grammar(choices=self.choices)

    @property
    def default_max_tokens(self) -> int:
        return self.grammar.max_bytes + 1

    def parse(self, text: str) -> Answer:
        if text in self.choices:
            return Answer(text)
        stripped = text.strip()
        same = [c for c in self.choices if c.strip().casefold() == stripped.casefold()]
        return Answer(same[0]) if len(same) == 1 else _unparsable(text, f"one of {list(self.choices)}")


@dataclass(frozen=True)
class YesNo:
    """Yes or no: BOOLEAN."""

    sql_type: str = "BOOLEAN"
    _choice = Choice(("yes", "no"))
    instruction: str = _choice.instruction
    grammar: Grammar = _choice.grammar
    default_max_tokens: int = _choice.default_max_tokens

    def parse(self, text: str) -> Answer:
        answer = self._choice.parse(text)
        return answer if answer.failure else Answer(answer.value == "yes")


@dataclass(frozen=True)
class Number:
    """A number from lo to hi: DOUBLE.

    Whole numbers when both bounds are whole and at least 2 apart, else steps of SCORE_STEP.
    """

    lo: float
    hi: float
    sql_type: str = "DOUBLE"

    @property
    def whole(self) -> bool:
        return self.lo == int(self.lo) and self.hi == int(self.hi) and self.hi - self.lo >= 2

    @property
    def instruction(self) -> str:
        return f"Answer with a number from {_plain(self.lo)} to {_plain(self.hi)}."

    @cached_property
    def grammar(self) -> Grammar:
        step = 1.0 if self.whole else SCORE_STEP
        first, last = math.ceil(self.lo / step - 1e-9), math.floor(self.hi / step + 1e-9)
        if last - first < MAX_LISTED_NUMBERS:
            return Grammar(choices=tuple(_plain(round(i * step, 2)) for i in range(first, last + 1)))
        digits = max(len(str(int(abs(self.lo)))), len(str(int(abs(self.hi)))))
        sign = "-?" if self.lo < 0 else ""
        fraction = "" if self.whole else r"(\.[0-9]{1,2})?"
        return Grammar(regex=f"{sign}[0-9]{{1,{digits}}}{fraction}")

    @property
    def default_max_tokens(self) -> int:
        return self.grammar.max_bytes + 1

    def parse(self, text: str) -> Answer:
        wanted = f"a number from {_plain(self.lo)} to {_plain(self.hi)}"
        if not re.fullmatch(r"\s*[-+]?[0-9]+(\.[0-9]+)?\s*", text):
            return _unparsable(text, wanted)
        value = float(text)
        return Answer(value) if self.lo <= value <= self.hi else _unparsable(text, wanted)


def _plain(number: float) -> str:
    """A number without a needless fraction: 5 for 5.0."""
    return str(int(number)) if number == int(number) else f"{number:.12g}"


def _unparsable(text: str, wanted: str) -> Answer:
    shown = text if len(text) <= 80 else text[:77] + "..."
    return Answer(None, Failure(FailureKind.UNPARSABLE, f"the reply {shown!r} is not {wanted}"))
