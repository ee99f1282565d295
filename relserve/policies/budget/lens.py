"""LENS as published (NexusSched, section 4): the target of Eq. 7, and Algorithm 1's search.

What the paper leaves open is chosen here: t_d,min is 0.9 of the TPOT limit; with limits per request the
tightest counts; epsilon is 5 %; while somebody waits the target goes a tenth of the way to the TPOT limit in
each step, and back when nobody does; before the model has learnt, a step has the engine's own budget.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import numpy as np

from relserve.policies.budget.state import Budget, BudgetView, EndedRequest
from relserve.policies.budget.static import within
from relserve.policies.model.structured import PUBLISHED, StepModel
from relserve.policies.model.work import NUM_COLUMNS, Column, Work

SEARCHES, EPSILON, RELAX, LEAST = 10, 0.05, 0.1, 0.9
_KEEP = 1.0 - 1.0 / 64  # of the sums in TradeOff, for each request that ends


@dataclass
class TradeOff:
    """What TTFT is at a TPOT (Eq. 3: alpha - beta t_d), and the length of answers, from requests that ended.

    The paper does not say how alpha and beta are estimated: here by least squares with forgetting. Where
    requests with longer TPOT had no shorter TTFT there is no trade-off to be seen, and beta is 0. The mean
    length is compared with beta, so it is one more sum over the same requests, and no `KeyedMeans`.
    """

    _sums: list[float] = field(default_factory=lambda: [0.0] * 6)

    def add(self, request: EndedRequest) -> None:
        """A request has ended."""
        d, p = request.tpot_s, request.ttft_s
        new = (1.0, d, p, d * d, d * p, float(request.num_output))
        self._sums = [_KEEP * old + each for old, each in zip(self._sums, new, strict=True)]

    @property
    def mean_output(self) -> float:
        """Expected decode length; 0 before any request has ended."""
        return self._sums[5] / self._sums[0] if self._sums[0] else 0.0

    @property
    def alpha_beta(self) -> tuple[float, float]:
        """Seconds, and seconds a second."""
        n, d, p, dd, dp, _ = self._sums
        if not n:
            return 0.0, 0.0
        spread = dd / n - (d / n) ** 2
        slope = (dp / n - d * p / n**2) / spread if spread > 1e-12 else 0.0
        beta = max(-slope, 0.0)
        return p / n + beta * d / n, beta


def bounds(trade: TradeOff, ttft_slo_s: float, tpot_slo_s: float) -> tuple[float, float]:
    """Eq. 5 and 6: the least and the largest TPOT that keep both limits."""
    alpha, beta = trade.alpha_beta
    if beta:
        return (alpha - ttft_slo_s) / beta, tpot_slo_s
    return (inf if alpha > ttft_slo_s else -inf), tpot_slo_s


def target_s(trade: TradeOff, ttft_slo_s: float, tpot_slo_s: float, least_s: float) -> float:
    """How long a step should take, in seconds (Eq. 7)."""
    lowest, highest = bounds(trade, ttft_slo_s, tpot_slo_s)
    if trade.mean_output > trade.alpha_beta[1]:
        return min(highest, max(least_s, lowest))
    return highest


@dataclass
class Lens:
    """The published policy."""

    name: str
    model: StepModel = field(default_factory=lambda: StepModel(PUBLISHED))
    trade: TradeOff = field(default_factory=TradeOff)
    _relaxed: float = 0.0

    @property
    def token_s(self) -> None:
        """See `BudgetPolicy.token_s`."""

    def measured(self, work: Work, seconds: float) -> None:
        """See `BudgetPolicy.measured`."""
        self.model.add(work, seconds)

    def ended(self, request: EndedRequest) -> None:
        """See `BudgetPolicy.ended`."""
        self.trade.add(request)

    def choose(self, view: BudgetView) -> Budget:
        """See `BudgetPolicy.choose`."""
        self._relaxed += RELAX * ((view.num_waiting > 0) - self._relaxed)
        if view.only_decodes or not self.model.is_ready:
            return within(view, view.most_tokens, reason="nothing to choose")
        target = self._target_s(view)
        if np.isinf(target):
            return within(view, view.most_tokens, reason="no limit")
        return self._search(view, max(target, 0.0))

    def _target_s(self, view: BudgetView) -> float:
        slos = np.concatenate([view.decodes.slo_s, view.prompts.tpot_slo_s])
        tpot_s, ttft_s = float(slos.min()), float(view.prompts.slo_s.min())
        target = target_s(self.trade, ttft_s, tpot_s, LEAST * tpot_s)
        return target if np.isinf(tpot_s) else target + self._relaxed * (tpot_s - target)

    def _search(self, view: BudgetView, target: float) -> Budget:
        """Algorithm 1, lines 4 to 24, for all batch sizes at once.

        It ends at the first whose error is below epsilon, which lines 23 and 24 do; else at the least error.
        """
        most = min(view.num_running + view.num_waiting, view.most_requests)
        batch = np.arange(min(view.num_running, most), most + 1, dtype=float)
        batch = batch[batch > 0]
        tokens = self._budgets(batch, target, float(view.most_tokens))
        # AllocateTokens: what runs first, then what waits, until the requests or the tokens are used up
        ends = np.concatenate([[0.0], np.cumsum(view.prompts.uncomputed)])
        places = np.clip(batch - view.num_decodes, 0, len(ends) - 1).astype(int)
        allocated = np.minimum(tokens, view.num_decodes + ends[places])
        spare = np.maximum(allocated - view.num_decodes, 0.0)
        prompts = np.minimum(np.searchsorted(ends[:-1], spare, side="left"), places)
        used = prompts + np.minimum(view.num_decodes, allocated)
        errors = np.abs(self._predict(used, allocated) - target)
        good = np.flatnonzero(errors < EPSILON * target)
        best = int(good[0]) if len(good) else int(np.argmin(errors))
        return within(view, float(tokens[best]), float(batch[best]), target, "searched")

    def _budgets(self, batch: Column, target: float, most: float) -> Column:
        """Lines 8 to 16: the binary search of the largest S that the target allows, for each B."""
        low, high, found = batch.copy(), np.full(len(batch), most), batch.copy()
        for _ in range(SEARCHES):
            middle = np.floor((low + high) / 2.0)
            is_open = low <= high
            fits = is_open & (self._predict(batch, middle) <= target)
            found = np.where(fits, middle, found)
            low, high = np.where(fits, middle + 1.0, low), np.where(is_open & ~fits, middle - 1.0, high)
        return found

    def _predict(self, batch: Column, tokens: Column) -> Column:
        """Predict(B, S), which looks at these two only: who decodes does not matter."""
        works = np.zeros((len(batch), NUM_COLUMNS))
        works[:, 0], works[:, 1] = tokens, batch
        return self.model.predict(works)
