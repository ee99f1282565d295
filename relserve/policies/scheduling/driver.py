"""Drives a policy from step to step: the same for the plug-in inside vLLM and for the simulator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from relserve.policies.model.lengths import CapLengths, LengthLearner, RelLengths
from relserve.policies.model.linear import CostModel
from relserve.policies.model.online import CostSource
from relserve.policies.model.work import Work
from relserve.policies.scheduling.decompose import pem
from relserve.policies.scheduling.due import DeadlineStanding
from relserve.policies.scheduling.policy import SchedulingPolicy
from relserve.policies.scheduling.priority import miss_ratio_of
from relserve.policies.scheduling.state import EngineLimits, RelState, StepDecision, StepView

EVERYTHING = StepDecision(None, None, None, "everything")
ONLY_DECODES = "only decodes"  # the reason of a step in which there was nothing to decide


class RelQueryOutlook(NamedTuple):
    """How a relQuery stands: the value that it is ordered by, and the predicted seconds that it has left.

    `priority` is None where the order is that of arrival, as among ordinary requests. `standing` is that of a
    relQuery with a deadline, under a variant that looks at deadlines.
    """

    priority: float | None
    left_s: float
    standing: DeadlineStanding | None = None


class StepDriver:
    """Holds a policy and its cost model, counts the reasons of its decisions, and never lets it stall.

    A decision under which nothing can be scheduled, although rows wait or were held back, is followed by one
    that holds nothing back.

    Attributes:
        policy: decides.
        cost: where the cost model comes from: fixed, or learnt from the steps.
        lengths: what is known of output lengths.
        reasons: how often each case decided.
    """

    def __init__(
        self, policy: SchedulingPolicy, cost: CostSource, lengths: LengthLearner | None = None
    ) -> None:
        self.policy, self.cost = policy, cost
        self.lengths = LengthLearner() if lengths is None else lengths
        self.reasons: Counter[str] = Counter()
        self._is_stalled = False
        self._latest = EVERYTHING

    @property
    def model(self) -> CostModel:
        """The cost model to show the policy now."""
        return self.cost.model

    @property
    def is_cost_sure(self) -> bool:
        """Whether steps lately took about what the cost model says."""
        return self.cost.is_sure

    def lengths_of(self, kind: str | None, cap: int, likely: int | None = None) -> RelLengths:
        """What its outputs are taken to be, of a relQuery that comes; see `LengthLearner.of`."""
        return self.lengths.of(kind, cap, likely) if self.policy.learns else CapLengths(cap)

    def decide(self, view: StepView) -> StepDecision:
        """The decision for the next step, whatever came of the one before."""
        order = self.policy.order(view)
        everything = self._is_stalled
        self._latest = replace(EVERYTHING, order=order) if everything else self.policy.plan(view, order)
        self.reasons[self._latest.reason] += 1
        return self._latest

    def has_no_choice(self, now_s: float) -> bool:
        """Whether to take as decided a step without prompts that has memory for all: it decodes every row.

        There is no view of such a step; the next one counts it.
        """
        if not self.policy.decodes_all(now_s):
            return False
        self.reasons[ONLY_DECODES] += 1
        return True

    def settle(self, has_scheduled: bool, has_more: bool) -> None:
        """Tell what came of the latest decision.

        Args:
            has_scheduled: whether the step computes anything.
            has_more: whether rows wait or were held back.
        """
        self._is_stalled = has_more and not has_scheduled

    @property
    def is_stuck(self) -> bool:
        """Whether nothing could be scheduled although nothing was held back."""
        return self._is_stalled and self._latest.reason == EVERYTHING.reason

    def measured(self, work: Work, seconds: float) -> None:
        """A step is over: learn how long it took."""
        self.cost.add(work, seconds)

    def outlooks(
        self, states: Sequence[RelState], limits: EngineLimits, now_s: float
    ) -> list[RelQueryOutlook]:
        """How some relQueries stand that the latest view knew of.

        Args:
            now_s: on the clock of the views.
        """
        urgencies = [self._latest.order.urgency(state) for state in states]
        ratios = [miss_ratio_of(self.policy.book, state.rel_id) for state in states]
        works = [pem(state, ratio, limits) for state, ratio in zip(states, ratios, strict=True)]
        remaining_s = [float(work.seconds(self.model).alone_s) for work in works]
        standings = [self.policy.standing(state, self.model, now_s) for state in states]
        return [
            RelQueryOutlook(None if state.is_ordinary or value == arrival_s else value, left_s, standing)
            for state, (value, arrival_s, _), left_s, standing in zip(
                states, urgencies, remaining_s, standings, strict=True
            )
        ]
