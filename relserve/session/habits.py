"""What answers show of a model's habits: one label for all rows, texts that repeat themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from relserve.call.answer_types import Answer, AnswerType, ChoiceAnswer, Number, Text, YesNo
from relserve.call.loops import loop_start
from relserve.call.relquery import Reply

FEWEST = 30  # prompts with one label of which it is told
LONGEST_LOOP, LEAST_LOOPED = 40, 12  # words of one round, and that repeat the round before


class Habit(Protocol):
    """Counts what a habit of the model shows in, over the rounds of one relQuery."""

    def add(self, replies: Sequence[Reply], answers: Sequence[Answer]) -> None:
        """Take a batch: replies, and the answers that they are."""

    def text(self, function: str) -> str:
        """What to tell; "" for nothing."""


@dataclass
class SameLabel:
    """Whether all prompts got one label.

    Attributes:
        num: prompts that were answered so far; failed rows do not count.
        value: the answer that all of them have; None once two differ.
    """

    num: int = 0
    value: Any = None

    def add(self, replies: Sequence[Reply], answers: Sequence[Answer]) -> None:
        """See `Habit`."""
        values = [answer.value for answer in answers if answer.failure is None and answer.value is not None]
        if not values:
            return
        first = values[0] if not self.num else self.value
        self.value = first if all(value == first for value in values) else None
        self.num += len(values)

    def text(self, function: str) -> str:
        """See `Habit`."""
        if self.num < FEWEST or self.value is None:
            return ""
        order = "the choices in another order, " if isinstance(self.value, str) else ""
        return (
            f"{function}() gave {_shown(self.value)} to all {self.num:,} prompts; small models often favour "
            f"one answer, whatever a row says. Look at some rows; try {order}examples := [..], another model"
        )


@dataclass
class LoopingTexts:
    """How many texts repeat themselves until max_tokens ends them."""

    num: int = 0
    num_looping: int = 0

    def add(self, replies: Sequence[Reply], answers: Sequence[Answer]) -> None:
        """See `Habit`."""
        self.num += len(replies)
        self.num_looping += sum(reply.cut and loops(reply.text or "") for reply in replies)

    def text(self, function: str) -> str:
        """See `Habit`."""
        if not self.num_looping:
            return ""
        return (
            f"{self.num_looping:,} of {self.num:,} answers of {function}() repeat themselves until "
            "max_tokens ends them, as small models do; stop := [..] or another model helps"
        )


def habit_of(kind: AnswerType, model: str) -> Habit | None:
    """What to count of a call's answers; None for types without a habit to see, and for made-up answers."""
    if model == "scripted":
        return None
    if isinstance(kind, (ChoiceAnswer, Number, YesNo)):
        return SameLabel()
    return LoopingTexts() if isinstance(kind, Text) else None


def loops(text: str) -> bool:
    """Whether the end of a text only repeats what stood before."""
    words = text.split()[:-1]  # the last one may be cut
    return loop_start(words, LONGEST_LOOP, LEAST_LOOPED) < len(words)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else repr(value)
