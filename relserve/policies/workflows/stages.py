"""What is learned of a workflow's stages from those that ended: how much they say, what comes after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from relserve.policies.model.means import KeyedMeans
from relserve.policies.workflows.types import NOTHING, Demand

GUESS = Demand(1000.0, 64.0)  # of a step while nothing at all was seen
MEMORY = 256.0  # ended steps of a stage that its mean remembers


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


class StageDemands:
    """Mean demands by stage."""

    def __init__(self) -> None:
        self._prompts, self._outputs = KeyedMeans(MEMORY), KeyedMeans(MEMORY)

    def add(self, stage: str, demand: Demand) -> None:
        """Take one more of this stage."""
        self._prompts.add(stage, demand.prompt_tokens)
        self._outputs.add(stage, demand.output_tokens)

    def of(self, stage: str) -> Demand | None:
        """The mean of a stage, of all where it is unknown; None before anything was seen."""
        prompt, output = self._prompts.of(stage), self._outputs.of(stage)
        return None if prompt is None or output is None else Demand(prompt, output)


class StageLearner:
    """What steps ask, by stage: the prompts of all rows of a step, and the answer that is waited for last.

    So it is no `LengthLearner`, which learns the length of one row of a kind.

    The paper predicts an output's length from its prompt's (section 4.1); the authors' simulator has a
    constant for each stage. Here the mean of each stage is learned as steps end, and of what came after it
    as workflows end. An unknown stage counts as the mean of all, before anything was seen as `GUESS`.
    """

    def __init__(self) -> None:
        self._stages, self._after = StageDemands(), StageDemands()

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
        remaining = NOTHING
        if levels and not is_whole:
            remaining = longest([self.after(step.stage) for step in levels[-1]])
        for level in reversed(levels):
            for step in level:
                self._after.add(step.stage, remaining)
            remaining = remaining.plus(longest([step.demand for step in level]))


def longest(demands: Sequence[Demand]) -> Demand:
    """Of steps side by side: the most of each kind of token, for any of them may be waited for last."""
    return Demand(
        max([demand.prompt_tokens for demand in demands], default=0.0),
        max([demand.output_tokens for demand in demands], default=0.0),
    )
