"""Labels of choices: what a prompt has the model answer with, so that its first token tells the choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from string import ascii_uppercase
from typing import NamedTuple

from relserve.call.answer_types import ChoiceAnswer, Grammar
from relserve.call.decisions import YES_NO
from relserve.call.relquery import Submission
from relserve.call.turns import ChatTurn

DIGITS = "123456789"  # of more than nine choices some would have two


class Labels(NamedTuple):
    """The labels of some choices, in their order: the choices' own words, letters or digits."""

    choices: tuple[str, ...]
    labels: tuple[str, ...]

    @property
    def are_words(self) -> bool:
        """Whether the choices stand for themselves."""
        return self.labels == self.choices

    @property
    def instruction(self) -> str:
        """What stands before a prompt in place of `ChoiceAnswer.instruction`."""
        asks = ChoiceAnswer(self.labels).instruction
        if self.are_words:
            return asks
        listed = [f"{label}: {choice}" for label, choice in zip(self.labels, self.choices, strict=True)]
        return "\n".join([*listed, asks])

    def asked(self, submission: Submission) -> Submission:
        """A submission whose prompts and examples name the choices by their labels."""
        if self.are_words:
            return replace(submission, labels=self.labels)
        names, kind = dict(zip(self.choices, self.labels, strict=True)), ChoiceAnswer(self.choices)
        turns = [
            ChatTurn(self._named(turn.user), names[kind.parse(turn.assistant).value])
            for turn in submission.turns
        ]
        prompts = list(map(self._named, submission.prompts))
        return replace(submission, prompts=prompts, turns=tuple(turns), labels=self.labels)

    def without(self, submission: Submission) -> Submission:
        """The submission that `asked` made such a one of."""
        choices = dict(zip(self.labels, self.choices, strict=True))
        words = ChoiceAnswer(self.choices).instruction
        turns = [
            ChatTurn(words + turn.user.removeprefix(self.instruction), choices[turn.assistant])
            for turn in submission.turns
        ]
        prompts = [exchanged(prompt, self.instruction, words) for prompt in submission.prompts]
        return replace(submission, prompts=prompts, turns=tuple(turns), labels=())

    def _named(self, prompt: str) -> str:
        return exchanged(prompt, ChoiceAnswer(self.choices).instruction, self.instruction)


def exchanged(prompt: str, old: str, new: str) -> str:
    """A prompt with the instruction `new` where it had `old`: at its beginning, or at its end."""
    if prompt.endswith(f"\n{old}"):
        return prompt.removesuffix(old) + new
    return new + prompt.removeprefix(old)


def with_own_labels(submission: Submission, asked: Callable[[Submission], Submission]) -> Submission:
    """A submission whose prompts have grammars of their own, those of each grammar as `asked` makes them."""
    prompts = list(submission.prompts)
    labels: list[tuple[str, ...]] = [()] * len(prompts)
    places: dict[Grammar | None, list[int]] = {}
    for place in range(len(prompts)):
        places.setdefault(submission.grammar_of(place), []).append(place)
    for each in places.values():
        part = asked(submission.part(each, None).as_for(0))
        for place, prompt in zip(each, part.prompts, strict=True):
            prompts[place], labels[place] = prompt, part.labels
    return replace(submission, prompts=prompts, own_labels=labels)


def labels_of(choices: Sequence[str]) -> tuple[Labels, ...]:
    """The labels that some choices may have, the best first.

    A small model answers with words rather than with letters, so words come first; and letters or digits
    bring nothing to yes and no. Signs of which one is another choice's own word come last.
    """
    given = tuple(choices)
    found = [
        Labels(given, tuple(signs[: len(given)]))
        for signs in (ascii_uppercase, DIGITS)
        if len(given) <= len(signs) and given != YES_NO
    ]
    return Labels(given, given), *sorted(found, key=_misleads)


def _misleads(labels: Labels) -> bool:
    """Whether a model that answers with a choice's own word would name another choice."""
    return any(
        choice.upper() in labels.labels and choice.upper() != label
        for label, choice in zip(labels.labels, labels.choices, strict=True)
    )
