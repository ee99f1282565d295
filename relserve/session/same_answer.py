"""Whether all prompts of a call got one label, which often is the model's habit and not what the rows say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from relserve.call.answer_types import Answer, AnswerType, Choice, Number, YesNo

FEWEST = 30  # prompts of which it is told


@dataclass
class SameAnswer:
    """Counts the answers of one relQuery as long as they are the same.

    Attributes:
        num: prompts that were answered so far.
        value: the answer that all of them have; None once two differ.
    """

    num: int = 0
    value: Any = None

    def add(self, answers: Iterable[Answer]) -> None:
        """Take a batch; failed rows do not count."""
        values = [answer.value for answer in answers if answer.failure is None and answer.value is not None]
        if not values:
            return
        first = values[0] if not self.num else self.value
        self.value = first if all(value == first for value in values) else None
        self.num += len(values)

    def text(self, function: str) -> str:
        """What to tell; "" where answers differ, or are too few to tell."""
        if self.num < FEWEST or self.value is None:
            return ""
        order = "the choices in another order, " if isinstance(self.value, str) else ""
        return (
            f"{function}() gave {_shown(self.value)} to all {self.num:,} prompts; small models often favour "
            f"one answer, whatever a row says. Look at some rows; try {order}examples := [..], another model"
        )


def counted_of(kind: AnswerType, model: str) -> SameAnswer | None:
    """A counter where answers are labels, which a model chooses; None for other types and made-up answers."""
    return SameAnswer() if isinstance(kind, (Choice, Number, YesNo)) and model != "scripted" else None


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else repr(value)
