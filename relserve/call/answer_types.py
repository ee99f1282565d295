"""Answer types: what a reply may be, how the engine is held to it, and how it becomes a SQL value."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from relserve.call.fences import unfenced
from relserve.call.schema import Misfit, SchemaShape
from relserve.call.schema.nested import NullableShape
from relserve.call.schema.numbers import json_number
from relserve.errors import Failure, FailureKind

MAX_LISTED_NUMBERS = 1001  # a score with at most so many possible values is decoded as a choice
SCORE_STEP = 0.01  # between the values of a score whose bounds are not whole
MAX_CAPITALISED = 64  # choices that may begin with a capital letter, too; more would make large grammars
ROOM = 2  # tokens besides an answer's own: for a space before it, and to tell that it ends
MAX_EXTRACT_TOKENS = 1024  # of a reply with values found, unless max_tokens says more


@dataclass(frozen=True)
class Grammar:
    """What the engine may decode.

    Exactly one of choices, regex, shape, ebnf and source is set, or source with a shape.

    Attributes:
        choices: one of these texts.
        regex: a full match of it.
        shape: JSON of this shape.
        ebnf: a text that the rule `root` of this grammar allows, in xgrammar's EBNF; see `read_ebnf`.
        source: texts of which the reply, or each text in its shape, is a part, or null; none: null alone.
        bounds: of the number that the regex spells; the regex alone does not keep to them.
    """

    choices: tuple[str, ...] = ()
    regex: str = ""
    shape: SchemaShape | None = None
    bounds: tuple[float, float] | None = field(default=None, compare=False)
    ebnf: str = ""
    source: tuple[str, ...] | None = None

    @cached_property
    def takes_space(self) -> bool:
        """Whether one space may stand before the reply, as most tokenizers put it before a word.

        Not where a choice begins with white space itself, nor under an ebnf, which says so if one may.
        """
        return not self.ebnf and not any(choice[:1].isspace() for choice in self.choices)

    def without_space(self, text: str) -> str:
        """A reply without the space that was allowed before it."""
        return text.removeprefix(" ") if self.takes_space else text

    @cached_property
    def written(self) -> dict[str, str]:
        """Each way to write a choice, with the choice that it is: as given, and with a capital first letter.

        Models that would begin a sentence are not made to write what they would not, such as `yes` for `Yes`.
        Not where choices differ in their letters' case alone.
        """
        found = {choice: choice for choice in self.choices}
        folded = Counter(choice.casefold() for choice in self.choices)
        for choice in self.choices if len(self.choices) <= MAX_CAPITALISED else ():
            capital = choice[:1].upper() + choice[1:]
            if len(capital) == len(choice) and folded[choice.casefold()] == 1:
                found.setdefault(capital, choice)
        return found

    def choice_alternatives(self, literal: Callable[[str], str]) -> str:
        """The choices as alternatives of a rule in EBNF; `literal` quotes a text."""
        capitals = {choice: capital for capital, choice in self.written.items() if capital != choice}
        parts = []
        for choice in self.choices:
            if (capital := capitals.get(choice)) is None:
                parts.append(literal(choice))
            else:
                rest = f" {literal(choice[1:])}" if choice[1:] else ""
                parts.append(f"({literal(choice[:1])} | {literal(capital[:1])}){rest}")
        return " | ".join(parts)

    def choice_of(self, text: str) -> str:
        """The choice that a reply writes; the reply itself where it writes none."""
        return self.written.get(text, text)

    @property
    def max_bytes(self) -> int:
        """UTF-8 length of the longest allowed reply; no tokenizer needs more tokens than that.

        Of all but an ebnf, whose replies have no known length.
        """
        if self.shape is not None:
            return 4 * self.shape.max_chars
        return max((len(c.encode()) for c in self.written), default=32)

    @cached_property
    def longest(self) -> tuple[str, ...]:
        """Replies of which one has the most tokens; none where texts or lists in it may have any length."""
        if self.shape is not None:
            return () if self.shape.longest is None else (self.shape.longest,)
        decimals = 2 if "." in self.regex else 0
        return tuple(self.written) or tuple(f"{bound:.{decimals}f}" for bound in self.bounds or ())

    def most_tokens(self, num_tokens: Callable[[Sequence[str]], Sequence[int]]) -> int | None:
        """Tokens of the longest reply, the space before it and its end included; None without a bound.

        Of a reply as a tokenizer writes it: a model may spell the same in smaller tokens.
        """
        leads = ("", " ") if self.takes_space else ("",)
        spelled = [lead + text for text in self.longest for lead in leads]
        return max(num_tokens(spelled)) + 1 if spelled else None

    def may_go_on(self, text: str) -> bool:
        """Whether `text`, an allowed reply, may also be the beginning of a longer one."""
        begun = text.strip()
        if self.choices:
            begun = begun.casefold()
            return any(c.casefold() != begun and c.casefold().startswith(begun) for c in self.choices)
        if self.shape is not None:  # of JSON's values, only numbers do not tell where they end
            return begun not in ("true", "false", "null") and not begun.endswith(('"', "]", "}", "`"))
        return True


class Answer(NamedTuple):
    """One row's answer: a value of the answer's SQL type, or why there is none.

    Attributes:
        confidence: the probability that the model gave to it, where the call has min_confidence.
        sureness: of a decision, the probability of the best choice of each question that has an answer.
    """

    value: Any
    failure: Failure | None = None
    confidence: float | None = None
    sureness: tuple[float, ...] = ()


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


def described(choices: Sequence[str], descriptions: Sequence[str | None]) -> list[str]:
    """What a prompt says of choices that have descriptions, a line each."""
    return [f"{choice}: {told}" for choice, told in zip(choices, descriptions, strict=False) if told]


@dataclass(frozen=True)
class ChoiceAnswer:
    """One of the given texts: VARCHAR."""

    choices: tuple[str, ...]
    sql_type: str = "VARCHAR"
    descriptions: tuple[str | None, ...] = ()  # of each choice, where any has one

    @property
    def instruction(self) -> str:
        asks = f"Answer with exactly one of: {', '.join(self.choices)}."
        return "\n".join([asks, *described(self.choices, self.descriptions)])

    @cached_property
    def grammar(self) -> Grammar:
        return Grammar(choices=self.choices)

    @property
    def default_max_tokens(self) -> int:
        return self.grammar.max_bytes + ROOM

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
    _choice = ChoiceAnswer(("yes", "no"))
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
        return Grammar(regex=f"{sign}[0-9]{{1,{digits}}}{fraction}", bounds=(self.lo, self.hi))

    @property
    def default_max_tokens(self) -> int:
        return self.grammar.max_bytes + ROOM

    def parse(self, text: str) -> Answer:
        wanted = f"a number from {_plain(self.lo)} to {_plain(self.hi)}"
        if not re.fullmatch(r"\s*[-+]?[0-9]+(\.[0-9]+)?\s*", text):
            return _unparsable(text, wanted)
        value = float(text)
        return Answer(value) if self.lo <= value <= self.hi else _unparsable(text, wanted)


@dataclass(frozen=True)
class Extract:
    """Values of a schema's types, found in the text: JSON that from_json turns into values of SQL.

    Attributes:
        verbatim: texts have to stand in the row's values; see `stands_in`.
    """

    shape: SchemaShape
    sql_type: str = "VARCHAR"
    verbatim: bool = False

    @property
    def instruction(self) -> str:
        if isinstance(self.shape, NullableShape):
            return f"Answer with: {self.shape.words}; or null if that is not told."
        copied = ", texts copied word for word" if self.verbatim else ""
        return f"Answer with JSON like {self.shape.words}{copied}; write null for what is not told."

    @cached_property
    def grammar(self) -> Grammar:
        return Grammar(shape=self.shape, source=() if self.verbatim else None)

    @property
    def default_max_tokens(self) -> int:
        return min(MAX_EXTRACT_TOKENS, self.shape.max_chars + ROOM)

    def parse(self, text: str) -> Answer:
        try:
            return self._read(unfenced(text), text)
        except RecursionError:
            return _unparsable(text, "JSON that is not nested too deeply")

    def _read(self, bare: str, text: str) -> Answer:
        """The answer; `text` is the reply as it came, for messages."""
        try:
            found = json.loads(bare, parse_float=json_number)
        except ValueError as error:
            if not isinstance(self.shape, NullableShape):
                return _unparsable(text, f"JSON ({error})")
            found = bare.strip()  # a single value may come without quotes where a server takes no schema
        try:
            return Answer(json.dumps(self.shape.read(found, ""), ensure_ascii=False))
        except Misfit as misfit:
            return Answer(None, Failure(FailureKind.UNPARSABLE, f"in the reply {_shown(text)}, {misfit}"))


def judge_cut(
    answer: Answer, text: str, grammar: Grammar | None, is_whole: Callable[[str], bool] | None = None
) -> Answer:
    """The answer in a reply that max_tokens ended: a failure where the rest could have made it another.

    Args:
        is_whole: whether a reply of no grammar says all that is wanted; None: any does.
    """
    if answer.failure is not None:
        message = f"{answer.failure.message}; max_tokens ended it, raise max_tokens"
        return Answer(None, answer.failure._replace(message=message))
    if grammar is None:
        may_go_on = is_whole is not None and not is_whole(text)
    else:
        may_go_on = grammar.may_go_on(text)
    if not may_go_on:
        return answer
    message = f"max_tokens ended the reply {_shown(text)}, which may not be all of it; raise max_tokens"
    return Answer(None, Failure(FailureKind.UNPARSABLE, message))


def _plain(number: float) -> str:
    """A number without a needless fraction: 5 for 5.0."""
    return str(int(number)) if number == int(number) else f"{number:.12g}"


def _unparsable(text: str, wanted: str) -> Answer:
    return Answer(None, Failure(FailureKind.UNPARSABLE, f"the reply {_shown(text)} is not {wanted}"))


def _shown(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
