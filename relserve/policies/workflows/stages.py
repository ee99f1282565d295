"""What is learned of a workflow's stages from those that ended: how much they say, what comes after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from relserve.policies.workflows.types import NOTHING, Demand

GUESS = Demand(1000.0, 64.0)  # of a step while nothing at all was seen
MEMORY = 256.0  # ended steps of a stage that its mean remembers
MOST_STAGES = 1024  # remembered; who names more forgets those of which nothing came for longest


class DoneStep(NamedTuple):
    """A step that was served: its stage, prompt tokens, output tokens."""

    stage: str
    prompt_tokens: float
    output_tokens: float

    @property
    def demand(self) -> Demand:
        """Without the stage."""
        return Demand(self.prompt_tokens, self.output_tokens)


class PastWorkflow(NamedTuple):
    """A workflow that was served: when it came, its steps level by level."""

    arrival_s: float
    levels: Sequence[Sequence[DoneStep]]


class Mean:
    """A mean demand that forgets: of the first so many all count alike, then the older ever less."""

    __slots__ = ("mean", "number")

    def __init__(self) -> None:
        self.mean, self.number = NOTHING, 0

    def add(self, demand: Demand) -> None:
        """Take one more."""
        self.number += 1
        weight = max(1.0 / self.number, 1.0 / MEMORY)
        prompt, output = self.mean
        self.mean = Demand(
            prompt + weight * (demand.prompt_tokens - prompt),
            output + weight * (demand.output_tokens - output),
        )


class StageMeans:
    """Mean demands by stage, of so many stages; that of which nothing came for longest is forgotten."""

    def __init__(self, most: int = MOST_STAGES) -> None:
        self._most = most
        self._means: dict[str, Mean] = {}  # what was added to last comes last
        self._all = Mean()

    def __len__(self) -> int:
        return len(self._means)

    def add(self, stage: str, demand: Demand) -> None:
        """Take one more of this stage."""
        mean = self._means.pop(stage, None) or Mean()
        mean.add(demand)
        self._all.add(demand)
        self._means[stage] = mean
        if len(self._means) > self._most:
            del self._means[next(iter(self._means))]

    def of(self, stage: str) -> Demand | None:
        """The mean of a stage, of all where it is unknown; None before anything was seen."""
        seen = self._means.get(stage, self._all)
        return seen.mean if seen.number else None


class StageLearner:
    """Lengths by stage.

    The paper predicts an output's length from its prompt's (section 4.1); the authors' simulator has a
    constant for each stage. Here the mean of each stage is learned as steps end, and of what came after it
    as workflows end. An unknown stage counts as the mean of all, before anything was seen as `GUESS`.
    """

    def __init__(self) -> None:
        self._stages, self._after = StageMeans(), StageMeans()

    def output_tokens(self, stage: str) -> float:
        """How much a step of this stage is taken to say."""
        return self.typical(stage).output_tokens

    def typical(self, stage: str) -> Demand:
        """What a step of this stage asks on average."""
        return self._stages.of(stage) or GUESS

    def after(self, stage: str) -> Demand:
        """What a workflow still asks after a step of this stage, on its longest way to the end."""
        return self._after.of(stage) or NOTHING

    def ended(self, step: DoneStep) -> None:
        """A step ended with its whole output."""
        self._stages.add(step.stage, step.demand)

    def workflow_ended(self, levels: Sequence[Sequence[DoneStep]], is_whole: bool = True) -> None:
        """A workflow ended.

        Args:
            levels: its steps one after the other, those that ran side by side together. Of each level the
                longest step counts, once: the workflow waits for it alone.
            is_whole: else it was broken off, and would have asked after the last level what others do.
        """
        left = NOTHING
        if levels and not is_whole:
            left = longest([self.after(step.stage) for step in levels[-1]])
        for level in reversed(levels):
            for step in level:
                self._after.add(step.stage, left)
            left = left.plus(longest([step.demand for step in level]))


def longest(demands: Sequence[Demand]) -> Demand:
    """Of steps side by side: the most of each kind of token, for any of them may be waited for last."""
    return Demand(
        max([demand.prompt_tokens for demand in demands], default=0.0),
        max([demand.output_tokens for demand in demands], default=0.0),
    )
