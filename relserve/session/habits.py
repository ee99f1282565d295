"""What answers show of a model's habits: one answer for nearly all rows, texts that repeat themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from relserve.call.answer_types import Answer, ChoiceAnswer, Extract, Text
from relserve.call.decided import Decided
from relserve.call.decisions import Decision, Distribution, Labelling
from relserve.call.loops import loop_start
from relserve.call.options import FUNCTIONS
from relserve.call.relquery import CallSite, Reply
from relserve.call.vectors import Vector
from relserve.call.verbatim import Quote

FEWEST = 30  # prompts of which it is told
NEARLY_ALL = 0.98  # share of one answer of which it is told
MOST_ANSWERS = 1000  # that are counted
MAX_SHOWN = 80  # characters of an answer that is told
LONGEST_LOOP, LEAST_LOOPED = 40, 12  # words of one round, and that repeat the round before


class Habit(Protocol):
    """Counts what a habit of the model shows in, over the rounds of one relQuery."""

    def add(self, replies: Sequence[Reply], answers: Sequence[Answer]) -> None:
        """Take a batch of answers, and the replies that they were; of kept answers there are none."""

    def text(self, function: str) -> str:
        """What to tell; "" for nothing."""


@dataclass
class SameAnswer:
    """Whether all prompts, or nearly all, got one answer.

    Attributes:
        remedy: what such a call lets one try, besides another model.
        is_json: the answers are JSON.
        counts: prompts by their answer; failed rows do not count. None once the answers are too many to be
            nearly all the same.
    """

    remedy: str = ""
    is_json: bool = False
    counts: Counter[Any] | None = field(default_factory=Counter)

    def add(self, replies: Sequence[Reply], answers: Sequence[Answer]) -> None:
        """See `Habit`."""
        if self.counts is None:
            return
        self.counts.update(
            answer.value for answer in answers if answer.failure is None and answer.value is not None
        )
        if len(self.counts) > MOST_ANSWERS:
            self.counts = None

    def text(self, function: str) -> str:
        """See `Habit`."""
        total = self.counts.total() if self.counts else 0
        if not self.counts or total < FEWEST:
            return ""
        ((value, num),) = self.counts.most_common(1)
        if num < NEARLY_ALL * total:
            return ""
        share = f"all {num:,}" if num == total else f"{num:,} of {total:,}"
        shown = _shown_json(value) if self.is_json else _shown(value)
        return (
            f"{function}() gave {shown} to {share} prompts; small models often favour one answer, "
            "whatever a row says. Measure it on 50 rows that you label: relserve evaluate. Try "
            f"{self.remedy}another model"
        )


@dataclass
class LoopingTexts:
    """How many texts repeat themselves until max_tokens ends them."""

    num: int = 0
    num_looping: int = 0

    def add(self, replies: Sequence[Reply], answers: Sequence[Answer]) -> None:
        """See `Habit`."""
        self.num += len(answers)
        self.num_looping += sum(reply.cut and loops(reply.text or "") for reply in replies)

    def text(self, function: str) -> str:
        """See `Habit`."""
        if not self.num_looping:
            return ""
        return (
            f"{self.num_looping:,} of {self.num:,} answers of {function}() repeat themselves until "
            "max_tokens ends them, as small models do; stop := [..] or another model helps"
        )


@dataclass(frozen=True)
class FirstHabit:
    """Several habits, of which the first that shows is told."""

    habits: tuple[Habit, ...]

    def add(self, replies: Sequence[Reply], answers: Sequence[Answer]) -> None:
        """See `Habit`."""
        for habit in self.habits:
            habit.add(replies, answers)

    def text(self, function: str) -> str:
        """See `Habit`."""
        return next(filter(None, (habit.text(function) for habit in self.habits)), "")


def habit_of(site: CallSite, model: str) -> Habit | None:
    """What to count of a call's answers; None for made-up ones, and for vectors."""
    kind, remedy = site.answer_type, _remedy(site)
    if model == "scripted" or isinstance(kind, Vector):
        return None
    if isinstance(kind, Text):
        return FirstHabit((LoopingTexts(), SameAnswer(remedy)))
    return SameAnswer(remedy, isinstance(kind, (Extract, Quote, Distribution, Labelling, Decided)))


def _remedy(site: CallSite) -> str:
    """What the call may be given that it has not."""
    found = []
    if isinstance(site.answer_type, Decision):
        found += ["debias := 2"] if site.options.debias == 1 else []
        found += ["prior := 'empty'"] if site.options.prior == "none" else []
    elif isinstance(site.answer_type, ChoiceAnswer):
        found.append("the choices in another order")
    if "examples" in FUNCTIONS[site.function].options:
        found.append("examples := [..]")
    return "".join(f"{each}, " for each in found)


def loops(text: str) -> bool:
    """Whether the end of a text only repeats what stood before."""
    words = text.split()[:-1]  # the last one may be cut
    return loop_start(words, LONGEST_LOOP, LEAST_LOOPED) < len(words)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else _shortened(repr(value))


def _shown_json(text: str) -> str:
    """A value found in a text, as SQL shows it."""
    return "NULL" if text == "null" else _shortened(text)


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."
