"""An engine whose steps a budget policy cuts: the caching policy that a simulation asks, and its step times.

Memory holds keys and values, first come, first served; only the tokens and requests of a step are the budget
policy's. It is told what each step took, as a scheduler measures it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf, nan
from typing import NamedTuple

import numpy as np

from lab.simulator.requests.sim_request import SimRequest
from lab.simulator.roofline import Roofline
from relserve.policies.budget.late import Late
from relserve.policies.budget.policy import BudgetPolicy
from relserve.policies.budget.state import BudgetView, Decodes, EndedRequest, Prompts
from relserve.policies.caching.first_come import FirstCome
from relserve.policies.caching.requests import NOTHING, Floats, Ints, RequestColumns
from relserve.policies.caching.state import BatchLimits, CachePlan, CacheView
from relserve.policies.model.cache_costs import CacheCosts
from relserve.policies.model.means import RecentMean
from relserve.policies.model.work import Column, Work


class StepTimeChange(NamedTuple):
    """From `at_s` on a step takes `factor` times as long."""

    at_s: float
    factor: float


@dataclass(frozen=True)
class NoisyTimes:
    """How long steps really take.

    Attributes:
        noise: standard deviation of a step's logarithm.
        hiccups: share of the steps that take `hiccup_s` longer: other programs, garbage.
        changes: lasting changes of the speed, in order of time.
    """

    roofline: Roofline
    noise: float = 0.04
    hiccups: float = 0.001
    hiccup_s: float = 0.02
    changes: Sequence[StepTimeChange] = ()

    def factor(self, now_s: float) -> float:
        """How many times as long a step takes from then on."""
        found = 1.0
        for change in self.changes:
            found = change.factor if change.at_s <= now_s else found
        return found


@dataclass
class Budgeted:
    """A budget policy as caching policy and step times of one simulated engine; good for one run.

    Attributes:
        budgets: when a budget was chosen, its tokens, and the tokens that the step computed.
        now_s: when the step began, or the first of several that nobody was asked about.
    """

    policy: BudgetPolicy
    times: NoisyTimes
    seed: int = 0
    budgets: list[tuple[float, int, int]] = field(default_factory=list)
    now_s: float = 0.0
    _first_s: dict[str, float] = field(default_factory=dict)
    _late_s: dict[str, float] = field(default_factory=dict)
    _room: float = 0.0

    def __post_init__(self) -> None:
        self._random = np.random.default_rng([19, self.seed])
        self._memory, self._output = FirstCome("fcfs"), RecentMean(128.0)

    @property
    def name(self) -> str:
        """See `CachingPolicy.name`."""
        return self.policy.name

    @property
    def costs(self) -> CacheCosts:
        """See `EngineTimes.costs`."""
        return self.times.roofline.costs

    def plan(self, view: CacheView) -> CachePlan:
        """See `CachingPolicy.plan`."""
        self.now_s = view.now_s
        came_s = self._came_s(view)
        seen = self._seen(view, came_s)
        chosen = self.policy.choose(seen)
        limits = BatchLimits(chosen.requests, chosen.tokens)
        plan = replace(self._memory.plan(view._replace(limits=limits), came_s), most_tokens=chosen.tokens)
        self._room = float(chosen.tokens - seen.num_decodes)
        self.budgets.append((view.now_s, chosen.tokens, 0))
        return plan

    def _came_s(self, view: CacheView) -> Floats:
        """When each came, or let others go first for the last time; NaN where it does so now (see `late`)."""
        requests, token_s = view.requests, self.policy.token_s
        is_new = requests.num_tokens == requests.num_prompt
        rows = np.flatnonzero((requests.holds == NOTHING) & is_new)
        if token_s is None or not (len(rows) or self._late_s):
            return requests.arrival_s
        is_at_work = (requests.holds != NOTHING) & (requests.num_computed < requests.num_tokens - 1)
        seen = Late(token_s, 0.0 if is_at_work.any() else self._room)
        order = rows[np.lexsort((requests.order[rows], requests.arrival_s[rows]))]
        columns = (view.now_s - requests.arrival_s, requests.ttft_slo_s, requests.num_prompt)
        for row, *each in zip(order.tolist(), *(column[order].tolist() for column in columns), strict=True):
            seen.see(requests.ids[row], *each)
        held = seen.held()
        came = zip(requests.ids, requests.arrival_s.tolist(), strict=True)
        came_s = np.array([self._late_s.get(name, at_s) for name, at_s in came])
        came_s[requests.rows_of(held)] = nan
        self._late_s.update(dict.fromkeys(held, view.now_s))
        return came_s

    def _seen(self, view: CacheView, came_s: Floats) -> BudgetView:
        requests = view.requests
        need = requests.num_tokens - requests.num_computed
        order = np.lexsort((requests.order, came_s))
        order = order[~np.isnan(came_s[order])]
        num_output_tokens = requests.num_tokens - requests.num_prompt
        is_decode = (num_output_tokens > 0) & (need <= 1) & (requests.holds != NOTHING)
        decodes, prompts = order[is_decode[order]], order[~is_decode[order]]
        prompts = prompts[np.argsort(requests.holds[prompts] == NOTHING, kind="stable")]
        mean = self._output.value
        return BudgetView(
            view.now_s,
            Decodes(
                self._first_of(requests, decodes), num_output_tokens[decodes].astype(float),
                np.maximum(mean - num_output_tokens[decodes], mean / 4), requests.tpot_slo_s[decodes],
                float(requests.num_computed[decodes].sum()),
            ),
            Prompts(
                requests.arrival_s[prompts], need[prompts].astype(float),
                requests.num_computed[prompts].astype(float),
                np.where(num_output_tokens[prompts] > 0, inf, requests.ttft_slo_s[prompts]),
                requests.tpot_slo_s[prompts], int((requests.holds[prompts] != NOTHING).sum()),
            ),
            view.limits.max_num_batched_tokens, view.limits.max_num_seqs,
        )  # fmt: skip

    def ended(self, request: SimRequest) -> None:
        """A request has generated its last token."""
        came_s, token_s = request.spec.arrival_s, request.token_s
        self._first_s.pop(request.request_id, None)
        self._late_s.pop(request.request_id, None)
        self._output = self._output.with_value(len(token_s))
        tpot_s = (token_s[-1] - token_s[0]) / max(len(token_s) - 1, 1)
        self.policy.ended(EndedRequest(token_s[0] - came_s, tpot_s, len(token_s)))

    def _first_of(self, requests: RequestColumns, rows: Ints) -> Column:
        """When rows that decode gave their first token; each is seen before its second."""
        found = [
            self._first_s.setdefault(requests.ids[row], float(requests.last_token_s[row]))
            for row in rows.tolist()
        ]
        return np.array(found)

    def seconds(self, work: Work) -> float:
        """See `StepTime.seconds`; the policy is told."""
        noise = float(np.exp(self._random.normal(0.0, self.times.noise)))
        hiccup_s = self.times.hiccup_s * (self._random.random() < self.times.hiccups)
        plain = self.times.roofline.seconds(work) + work.cached_pairs * self.times.roofline.pair_s
        seconds = (plain * noise + hiccup_s) * self.times.factor(self.now_s)
        self.policy.measured(work, seconds)
        if self.budgets:
            at_s, tokens, _ = self.budgets[-1]
            self.budgets[-1] = (at_s, tokens, int(work.num_tokens))
        return seconds

    def of_decodes(self, work: Work, growth: tuple[int, int], num_steps: int) -> Column:
        """See `EngineTimes.of_decodes`; the policy is not told of steps that nobody was asked about."""
        noise = np.exp(self._random.normal(0.0, self.times.noise, num_steps))
        found: Column = self.times.roofline.of_decodes(work, growth, num_steps) * noise
        return found * self.times.factor(self.now_s)
