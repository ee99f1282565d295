"""Plans steps by relQueries: a policy's decision on them becomes a plan of rows, within the step's budget."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from relserve.policies.caching.requests import CacheType
from relserve.policies.model.cache_costs import MeasuredCosts
from relserve.policies.model.online import OnlineCost
from relserve.policies.model.work import Work
from relserve.policies.scheduling.driver import RelQueryOutlook, StepDriver
from relserve.policies.scheduling.state import EngineLimits, FreeCapacity, StepDecision, StepView
from relserve.policies.scheduling.variants import make as make_policy
from relserve.vllm_plugin import host
from relserve.vllm_plugin.budget.steps import StepBudgets
from relserve.vllm_plugin.cache.scheduling_choice import AdmissionType
from relserve.vllm_plugin.cache.scheduling_costs import first_costs
from relserve.vllm_plugin.cache.scheduling_types import TYPES, RowTypes
from relserve.vllm_plugin.host import Host, HostRequest
from relserve.vllm_plugin.kept_cost import KeptCost
from relserve.vllm_plugin.kept_lengths import KeptLengths
from relserve.vllm_plugin.ledger import RelRecord, RowLedger
from relserve.vllm_plugin.miss_ratio import MissRatios
from relserve.vllm_plugin.queue import RelQueue
from relserve.vllm_plugin.settings import SchedulerSettings
from relserve.vllm_plugin.step_plan import StepPlan


class RelQueryPlanner:
    """Plans steps by a policy of relQueries; see `relserve.vllm_plugin.steering.Planner`.

    Attributes:
        driver: holds the policy and its cost model.
        lengths: what is learnt of outputs' lengths, and its file.
        queue: what the scheduler admits from.
        costs: what steps cost where rows may keep hidden states, learnt from them; else None.
    """

    def __init__(
        self, scheduler: Host, ledger: RowLedger, settings: SchedulerSettings, types: RowTypes,
        budgets: StepBudgets | None,
    ) -> None:  # fmt: skip
        self.scheduler, self.ledger, self.types, self._budgets = scheduler, ledger, types, budgets
        policy = make_policy(settings.variant, settings.starvation_s, settings.patience)
        path = Path(settings.lengths_path) if policy.learns and settings.lengths_path else None
        self.lengths = KeptLengths(path)
        self.driver = StepDriver(policy, OnlineCost(settings.first_cost), self.lengths.learner)
        kept = Path(settings.learnt_cost_path) if settings.learnt_cost_path else None
        self._kept_cost = KeptCost(kept, self.driver.cost)
        ledger.lengths_of = self.driver.lengths_of
        self.queue = RelQueue(ledger)
        self._limits = {cache: self._limits_of(cache) for cache in TYPES}
        self.costs: MeasuredCosts | None = None
        self._admission: AdmissionType | None = None
        if types.is_free:
            self.costs = MeasuredCosts(first_costs(scheduler, settings, types))
            self._admission = AdmissionType(scheduler, types)
        self._seen_steps = 0
        self._miss_ratios = MissRatios(
            self.queue, types.num_cached_tokens, host.hash_block_size(scheduler), settings.sample_size,
            of_each_other=policy.learns,
        )  # fmt: skip

    @property
    def limits(self) -> EngineLimits:
        """The engine's limits now: memory is counted in tokens of the type with which rows are admitted."""
        return self._limits[self.types.default]

    def _limits_of(self, cache: CacheType) -> EngineLimits:
        scheduler = self.scheduler
        return EngineLimits(
            scheduler.max_num_running_reqs, scheduler.max_num_scheduled_tokens,
            self.types.num_tokens(cache), self.types.tokens_per_block(cache),
        )  # fmt: skip

    def plan(self, step: int) -> StepPlan | None:
        """See `Planner.plan`."""
        if self._only_decodes() and self.driver.has_no_choice(time.monotonic()):
            return None
        decision = self.driver.decide(self._view(step))
        if self._budgets is None:
            return self._plan_of(decision)
        return self._budgets.bounded(self._plan_of(self._budgets.freed(decision)), self.queue.shown_by)

    def _plan_of(self, decision: StepDecision) -> StepPlan:
        """A decision on relQueries as a plan of rows."""
        running, held_back = self._with_victims(*self._split(decision), decision)
        admit = None
        if decision.prefill is not None:
            active = self.ledger.active
            waiting = [active[rel_id] for rel_id in decision.prefill if self.queue.rows(rel_id)]
            admit = [rel.rel_id for rel in decision.order.sort(waiting)]
        return StepPlan(
            running, held_back, decision.order, admit, decision.held_requests, decision.max_admit,
            decision.token_budget,
        )  # fmt: skip

    def _only_decodes(self) -> bool:
        """Whether there is no prompt to compute, memory for a token of each row, and no limit on latency.

        Rows that wait have nothing to compute where no seat is free; those that come are looked at once.
        """
        running, budgets = self.scheduler.running, self._budgets
        if not running or self._admission is not None or (budgets and budgets.rows):
            return False
        if len(self.queue) and (self.queue.come or self._num_free_seats() > 0):
            return False
        if len(running) * self.scheduler.block_size > host.num_free_kv_tokens(self.scheduler):
            return False
        return not any(map(attrgetter("is_prefill_chunk"), running))

    def settle(self, plan: StepPlan | None, has_scheduled: bool) -> None:
        """See `Planner.settle`."""
        has_more = plan is not None and (bool(plan.held_back) or len(self.queue) > 0)
        self.driver.settle(has_scheduled, has_more)
        self.queue.come.clear()  # the plan knew of them, or they were put back in the step itself

    def _view(self, step: int) -> StepView:
        news = self.ledger.news()
        for rel in news.changed:
            if rel.waiting_row_tokens is None:
                rel.waiting_row_tokens = partial(self._row_tokens, rel.rel_id)
        self._choose_type()
        for rel_id in news.gone:
            self._miss_ratios.forget(rel_id)
        free = FreeCapacity(max(self._num_free_seats(), 0), self.types.num_free_tokens(self.types.default))
        num_steps, self._seen_steps = step - self._seen_steps, step
        return StepView(
            news.changed, news.gone, free, self.limits, time.monotonic(), self.driver.model,
            lambda state: self._miss_ratios.of(state, step), news.cancelled, num_steps,
            self.driver.is_cost_sure,
        )  # fmt: skip

    def _row_tokens(self, rel_id: str) -> Iterable[int]:
        return [row.num_tokens for row in self.queue.rows(rel_id)]

    def _num_free_seats(self) -> int:
        seats = len(self.scheduler.running) + host.num_paused_seats(self.scheduler)
        return host.admission_cap(self.scheduler) - seats

    def _choose_type(self) -> None:
        """Choose as what rows come in, for the next one that would, by the order of the step before."""
        if self._admission is None or self.costs is None:
            return
        if (row := self.queue.next_row()) is not None:
            row_output = self.ledger.rel_of(row).row_output
            self._admission.choose(len(self.queue), row, row_output, self.costs.model)

    def _by_urgency(self, running: Sequence[HostRequest], decision: StepDecision) -> list[HostRequest]:
        rel_of = self.ledger.rel_of
        rank = {rel.rel_id: place for place, rel in enumerate(decision.order.sort(self.ledger.running))}
        return sorted(running, key=lambda request: rank[rel_of(request).rel_id])

    def _split(self, decision: StepDecision) -> tuple[list[HostRequest], list[HostRequest]]:
        """The running rows in order of urgency: those that may run, and those that are held back."""
        rel_of, held = self.ledger.rel_of, decision.held_requests
        running = self._by_urgency(self.scheduler.running, decision)
        if decision.holds_nothing_back:
            return running, []
        all_decode = decision.decode is None and not held
        shown: list[HostRequest] = []
        held_back: list[HostRequest] = []
        for request in running:
            if request.is_prefill_chunk:
                may_run = decision.prefills(rel_of(request).rel_id)
            else:
                may_run = all_decode or decision.decodes(rel_of(request).rel_id)
            (shown if may_run and request.request_id not in held else held_back).append(request)
        return shown, held_back

    def _with_victims(
        self, shown: list[HostRequest], held_back: list[HostRequest], decision: StepDecision
    ) -> tuple[list[HostRequest], list[HostRequest]]:
        """Show half-done prompts that are held back where memory is short: vLLM preempts what it is shown.

        One that is less urgent then loses its memory before a decode does.
        """
        halves = [request for request in held_back if request.is_prefill_chunk]
        if not halves:
            return shown, held_back
        size = self.scheduler.block_size
        needed = sum([not r.is_prefill_chunk and r.num_computed_tokens % size == 0 for r in shown])
        if needed * size <= host.num_free_kv_tokens(self.scheduler):
            return shown, held_back
        return self._by_urgency(shown + halves, decision), [r for r in held_back if not r.is_prefill_chunk]

    def learn(self, work: Work, seconds: float) -> None:
        """See `Planner.learn`."""
        if self.costs is not None:
            self.costs.add(work, seconds)
        self.driver.measured(work, seconds)
        self._kept_cost.tick(self.driver.cost)

    def miss_ratio(self, rel_id: str) -> float:
        """See `Planner.miss_ratio`."""
        return self._miss_ratios.latest(rel_id)

    def outlooks(self, rels: Sequence[RelRecord]) -> list[RelQueryOutlook]:
        """See `Planner.outlooks`."""
        return self.driver.outlooks(rels, self.limits, time.monotonic())

    def report(self) -> dict[str, Any]:
        """See `Planner.report`."""
        model = self.driver.model
        return {
            "variant": self.driver.policy.name, "reasons": dict(self.driver.reasons), "cost": [
                model.prefill_per_token_s, model.prefill_base_s, model.decode_per_request_s,
                model.decode_base_s, model.shared_base_s,
            ],
        }  # fmt: skip

    def close(self) -> None:
        """The end: write what was learnt."""
        self._kept_cost.close()
