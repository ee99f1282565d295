"""Answers that are probabilities of choices: nothing is written for them, the choices are only weighed."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Literal, NamedTuple

from relserve.call.answer_types import Answer, ChoiceAnswer, Grammar, described
from relserve.call.place_bias import divided
from relserve.errors import OptionError

# How probabilities are read: the next token's of a label of each choice, or the sum over its spellings.
Read = Literal["label", "exact"]
# What probabilities are divided by: nothing, or those that the choices have for empty inputs.
PriorOf = Literal["none", "empty"]
YES_NO = ("yes", "no")
MOST_CHOICES = 255  # as decision servers take
LABEL_MASS = "label_mass"  # the probability of all labels together is told under this name, as vLLM's is


class FollowUp(NamedTuple):
    """One of several questions about a row, whose prompt stands before each of them; see `PerQuestion`.

    Attributes:
        text: what stands after the prompt.
        choices: what may be answered.
        name: by which the user knows it; "" where it has none.
    """

    text: str
    choices: tuple[str, ...]
    name: str = ""


def check_number(function: str, choices: Sequence[str], fewest: int) -> None:
    """See that there is something to choose.

    Raises:
        OptionError: there are fewer choices than that, or more than `MOST_CHOICES`.
    """
    if len(choices) < fewest:
        raise OptionError(
            f"{function}() needs two choices or more, not {list(choices)}: one alone is always sure; "
            "for a yes or no ask llm_prob"
        )
    if len(choices) > MOST_CHOICES:
        raise OptionError(
            f"{function}() takes at most {MOST_CHOICES} choices, not {len(choices):,}; ask twice: for a "
            "group of them, then for one of that group"
        )


def expected_level(probabilities: Sequence[float]) -> float:
    """The mean of the levels' numbers, of which the lowest is 0, by their probabilities."""
    return sum(level * probability for level, probability in enumerate(probabilities))


def masses_by_name(names: Sequence[str], label_masses: Sequence[float]) -> dict[str, float | None]:
    """The label masses of some questions by their names; None where one is not known."""
    told = [None if math.isnan(mass) else mass for mass in label_masses] or [None] * len(names)
    return dict(zip(names, told, strict=True))


@dataclass(frozen=True)
class Decision(ABC):
    """A question with some choices, whose answer follows from the probability of each: see `value_of`.

    Attributes:
        choices: what the model may answer.
        descriptions: of each choice, where any has one.
    """

    choices: tuple[str, ...] = YES_NO
    descriptions: tuple[str | None, ...] = ()

    @property
    def sql_type(self) -> str:
        return "DOUBLE"

    @property
    def default_max_tokens(self) -> int:
        return 1  # of each request, however many it takes to read the probabilities

    @property
    def instruction(self) -> str:
        return ChoiceAnswer(self.choices, descriptions=self.descriptions).instruction

    @cached_property
    def grammar(self) -> Grammar:
        return Grammar(choices=self.choices)

    @property
    def follow_ups(self) -> tuple[FollowUp, ...]:
        """The questions about a row, where they are several; none: the choices are asked about at once."""
        return ()

    def parse(self, text: str) -> Answer:
        """The choice that a text spells, as in the examples of a call; replies have probabilities."""
        return ChoiceAnswer(self.choices).parse(text)

    @property
    def num_weighed(self) -> int:
        """How many answers each question weighs, at the least, and so in how many orders it can show them."""
        return min(self._sizes)

    def prior_of(self, empty_reads: Sequence[Sequence[float]]) -> tuple[float, ...]:
        """The mean of the probabilities for empty inputs, as in the paper that `divided` names."""
        return tuple(sum(column) / len(column) for column in zip(*empty_reads, strict=True))

    def without(self, prior: Sequence[float], probabilities: Sequence[float]) -> tuple[float, ...]:
        """The probabilities with the prior taken out of those of each question."""
        pairs = zip(self._by_question(probabilities), self._by_question(prior), strict=True)
        return tuple(probability for pair in pairs for probability in divided(*pair))

    def sureness(self, probabilities: Sequence[float]) -> tuple[float, ...]:
        """The probability of the best choice of each question; those with NaN have none."""
        return tuple(max(each) for each in self._by_question(probabilities) if not math.isnan(each[0]))

    @property
    def _sizes(self) -> list[int]:
        """Answers of each question about a row."""
        return [len(each.choices) for each in self.follow_ups] or [len(self.choices)]

    def _by_question(self, probabilities: Sequence[float]) -> list[Sequence[float]]:
        left = iter(probabilities)
        return [list(islice(left, size)) for size in self._sizes]

    @abstractmethod
    def value_of(self, probabilities: Sequence[float], label_masses: Sequence[float] = ()) -> Any:
        """The value of SQL that the probabilities make: of the choices, or of those of all follow-ups.

        Args:
            label_masses: see `Reply`; none where they are not known.
        """


@dataclass(frozen=True)
class Probability(Decision):
    """The probability of yes, beside no: DOUBLE."""

    def value_of(self, probabilities: Sequence[float], label_masses: Sequence[float] = ()) -> float:
        return probabilities[0]


@dataclass(frozen=True)
class ExpectedLevel(Decision):
    """The expected one of some levels, which are the choices from low to high: DOUBLE, from 0."""

    def value_of(self, probabilities: Sequence[float], label_masses: Sequence[float] = ()) -> float:
        return expected_level(probabilities)


@dataclass(frozen=True)
class Distribution(Decision):
    """The probability of each choice: JSON that from_json turns into a MAP, in the order of the choices.

    Attributes:
        label_mass: one entry more is that of all labels together, null where it is not known.
    """

    label_mass: bool = False

    @property
    def sql_type(self) -> str:
        return "VARCHAR"

    def value_of(self, probabilities: Sequence[float], label_masses: Sequence[float] = ()) -> str:
        told: dict[str, float | None] = dict(zip(self.choices, probabilities, strict=True))
        if self.label_mass:
            told |= masses_by_name((LABEL_MASS,), label_masses)
        return json.dumps(told, ensure_ascii=False)


@dataclass(frozen=True)
class Labelling(Decision):
    """The choices that apply, each asked about alone: JSON that from_json turns into a list of texts.

    Attributes:
        threshold: the least probability of a choice that applies.
    """

    threshold: float = 0.5

    @property
    def sql_type(self) -> str:
        return "VARCHAR"

    @property
    def instruction(self) -> str:
        asks = ChoiceAnswer(YES_NO).instruction
        return "\n".join([asks, *described(self.choices, self.descriptions)])

    @property
    def follow_ups(self) -> tuple[FollowUp, ...]:
        return tuple(FollowUp(f'Does "{choice}" apply?', YES_NO) for choice in self.choices)

    def value_of(self, probabilities: Sequence[float], label_masses: Sequence[float] = ()) -> str:
        yes = probabilities[:: len(YES_NO)]
        pairs = zip(self.choices, yes, strict=True)
        return json.dumps([choice for choice, p in pairs if p >= self.threshold], ensure_ascii=False)
