"""Ours: a step may take what the rows that decode have left of their limits.

A limit is on the mean time between a row's tokens, so a row that has been quick so far may have a longer
step, and one that could not keep its limit even if it decoded alone from now on binds nobody. What the rows
have left is spent on prompts at once, and prompts get a floor of tokens in any case.

No budget keeps limits where so many rows decode that their step alone takes longer. So nobody else is let in
while as many run as the usual limit bears. And where more prompts come than can be computed, those that will
be late in any case let others go first (`late`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

import numpy as np

from relserve.policies.budget.state import Budget, BudgetView, EndedRequest, works_at
from relserve.policies.budget.static import within
from relserve.policies.model.structured import OURS, StepModel
from relserve.policies.model.work import NUM_COLUMNS, Column, Work

FIRST = (1.0, 0.5, 1.5)  # shares of `before_learning`: of steps that are all alike nothing is learnt
SURE = 4.0  # no step has more prompt tokens than so many times those of the largest that was measured
PLACES = np.linspace(0.0, 1.0, 65)  # among which the most tokens are looked for


@dataclass
class SlackBudget:
    """Spends each row's slack.

    Attributes:
        floor: prompt tokens that every step has at least while a prompt is there.
        margin: share of a limit that is aimed at.
        before_learning: prompt tokens a step, about, as long as the model knows nothing.
        in_order: whether prompts go in their order, whoever is late.
        token_s: see `BudgetPolicy.token_s`.
    """

    name: str
    model: StepModel = field(default_factory=lambda: StepModel(OURS))
    floor: int = 32
    margin: float = 0.995
    before_learning: int = 256
    in_order: bool = False
    token_s: float | None = 0.0

    def __post_init__(self) -> None:
        self.token_s = None if self.in_order else 0.0

    def measured(self, work: Work, seconds: float) -> None:
        """See `BudgetPolicy.measured`."""
        self.model.add(work, seconds)

    def ended(self, request: EndedRequest) -> None:
        """See `BudgetPolicy.ended`."""

    def choose(self, view: BudgetView) -> Budget:
        """See `BudgetPolicy.choose`."""
        if view.only_decodes:
            return within(view, view.most_tokens, reason="decodes only")
        least = view.num_decodes + self.floor
        if not self.model.is_ready:
            first = self.before_learning * FIRST[self.model.num_steps % len(FIRST)]
            return within(view, max(view.num_decodes + first, least), reason="nothing learnt")
        alone_s = self._alone_s(view)
        target, most = self._target_s(view, alone_s), self._most_requests(view, alone_s)
        steps = self._steps(view)
        tokens = max(steps.most_within(target), least)
        self._learn_pace(view, alone_s, steps, tokens)
        if target == inf:
            return within(view, view.most_tokens, most, target, "nobody's limit binds")
        return within(view, tokens, most, target, "full" if most <= view.num_running else "slack")

    def _alone_s(self, view: BudgetView) -> Column:
        """Steps of one row that decodes, of two, and so on, with contexts like those of the rows here."""
        rows = np.arange(1.0, view.most_requests + 1.0)
        works = np.zeros((len(rows), NUM_COLUMNS))
        works[:, 2], works[:, 3] = rows, rows * (view.decodes.context_tokens / max(view.num_decodes, 1))
        return self.model.predict(works)

    def _most_requests(self, view: BudgetView, alone_s: Column) -> float:
        """How many rows may decode so that their steps alone keep the limit of most of them."""
        if not view.num_decodes:
            return inf
        limits_s = np.concatenate([view.decodes.slo_s, view.prompts.tpot_slo_s])
        limits_s[limits_s <= alone_s[0]] = inf
        limits_s.partition(len(limits_s) // 2)
        bears = int(alone_s.searchsorted(self.margin * limits_s[len(limits_s) // 2], "right"))
        return inf if bears == len(alone_s) else max(bears, 1)

    def _target_s(self, view: BudgetView, alone_s: Column) -> float:
        """The least of what the rows can spare whose limits can be kept yet."""
        decodes = view.decodes
        if not view.num_decodes:
            return inf
        limit_s = self.margin * decodes.slo_s
        gone_s, gaps = view.now_s - decodes.first_s, decodes.num_output_tokens - 1.0
        total, rest_s = gaps + decodes.expected_left, decodes.expected_left * alone_s[view.num_decodes - 1]
        is_bound = (gone_s + rest_s <= decodes.slo_s * total) & (limit_s < inf)
        spare_s = np.where(is_bound, limit_s, inf) * (gaps + 1.0) - gone_s
        return float(spare_s.min())

    def _learn_pace(self, view: BudgetView, alone_s: Column, steps: _Steps, tokens: float) -> None:
        """How quickly prompts are computed by steps of so many tokens."""
        if self.token_s is None:
            return
        num, limits_s = view.num_decodes, view.decodes.slo_s
        limits_s = limits_s[(limits_s > alone_s[max(num - 1, 0)]) & (limits_s < inf)]
        if len(limits_s):  # those who have just spent all that they had leave little now, and more later
            limits_s.partition(len(limits_s) // 2)
            tokens = max(tokens, steps.most_within(self.margin * float(limits_s[len(limits_s) // 2])))
        token_s = steps.seconds_at(tokens) / (tokens - num)
        is_cut = tokens < steps.tokens[-1]  # else rows take most of the step, and a longer prompt is quicker
        self.token_s = token_s if is_cut or not self.token_s else min(token_s, self.token_s)

    def _steps(self, view: BudgetView) -> _Steps:
        """Steps from no prompt token to as many as there are, or as the model can tell something of."""
        low, uncomputed = float(view.num_decodes), float(view.prompts.uncomputed.sum())
        known = max(SURE * self.model.most_prefill_tokens, self.before_learning)
        tokens = low + PLACES * (min(float(view.most_tokens), low + min(uncomputed, known)) - low)
        return _Steps(tokens, self.model.predict(works_at(view, tokens)))


class _Steps(NamedTuple):
    """Steps of more and more tokens, and what the model says that they take; between two, a line."""

    tokens: Column
    seconds: Column

    def most_within(self, target_s: float) -> float:
        """The most tokens of a step that ends in time."""
        last = int(self.seconds.searchsorted(target_s, "right")) - 1
        if last < 0 or last == len(self.tokens) - 1:
            return float(self.tokens[0 if last < 0 else last])
        before, after = self.seconds[last : last + 2]
        share = (target_s - before) / (after - before)
        return float(self.tokens[last] + share * (self.tokens[last + 1] - self.tokens[last]))

    def seconds_at(self, tokens: float) -> float:
        """Of a step of so many."""
        return float(np.interp(tokens, self.tokens, self.seconds))
