"""The budget of each step of a vLLM scheduler: asked before it, and taught what the step took after it."""

from __future__ import annotations

import logging
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import numpy as np

from relserve.machine.engine_status import BudgetStatus
from relserve.policies.budget.late import Late
from relserve.policies.budget.policy import BudgetPolicy
from relserve.policies.budget.state import Budget, BudgetView, Decodes, Prompts
from relserve.policies.budget.variants import BY_LIMITS, make
from relserve.policies.model.work import Work
from relserve.policies.scheduling.state import StepDecision
from relserve.vllm_plugin import host
from relserve.vllm_plugin.budget.limited import Limited, limits_of
from relserve.vllm_plugin.host import Host, HostRequest, StepOutput
from relserve.vllm_plugin.learner import StepLearner
from relserve.vllm_plugin.ledger import RowLedger
from relserve.vllm_plugin.settings import SchedulerSettings
from relserve.vllm_plugin.step_clock import StepClock
from relserve.vllm_plugin.step_plan import StepPlan

logger = logging.getLogger(__name__)

LATEST = 1024  # decisions whose times are remembered
MOST_LATE = 512  # of the queue that are looked at for who is late
LOOKS = 4  # requests of a step that are looked up in the prefix cache; each takes 10 to 20 us
SURE = 32  # measured steps after which their least duration tells something
_NOTHING = np.zeros(0)
NO_LIMITS: Any = SimpleNamespace(
    first_s=None, tpot_slo_s=math.inf, rel=SimpleNamespace(lengths=SimpleNamespace(expected_left=(1.0,)))
)
NO_DECODES = Decodes(_NOTHING, _NOTHING, _NOTHING, _NOTHING, 0.0)
NO_PROMPTS = Prompts(_NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING, 0)


class StepBudgets:
    """Asks a budget policy before each step and tells it what came of it.

    A policy that keeps limits is asked, and learns, only while a request with a limit is here.

    Attributes:
        policy: decides.
        rows: the requests with limits, by id.
        latest: the budget of the latest step that had one.
        step_s: what the policy's model says of the latest scheduled step; None where nobody bounds steps
            now, or nothing is learnt yet.
        decisions_s: what the latest decisions took.
        num_decisions: all of them.
    """

    def __init__(
        self, scheduler: Host, ledger: RowLedger, settings: SchedulerSettings, clock: StepClock,
        learner: StepLearner,
    ) -> None:  # fmt: skip
        self._scheduler, self._ledger, self._clock, self._learner = scheduler, ledger, clock, learner
        self._defaults = settings.ttft_slo_s, settings.tpot_slo_s
        self.use(make(settings.step_budget))

    def use(self, policy: BudgetPolicy) -> None:
        """Follow another policy from now on, and know nothing of steps before."""
        self.policy = policy
        self._only_limits = policy.name in BY_LIMITS
        self.rows: dict[str, Limited] = {}
        self._rels: Counter[str] = Counter()
        self._num_ttft, self._num_late, self._looked_s = 0, 0, 0.0
        self.latest: Budget | None = None
        self.step_s: float | None = None
        self.decisions_s: deque[float] = deque(maxlen=LATEST)
        self.num_decisions = 0
        self._cached: dict[str, int] = {}
        self._ends_s = 0.0
        self._least_s, self._num_measured = math.inf, 0
        self._warned: set[float] = set()
        self._is_bound = self._is_stalled = False

    @property
    def is_active(self) -> bool:
        """Whether steps have budgets now."""
        return bool(self.rows) or not self._only_limits

    @property
    def peak_tokens_per_s(self) -> float | None:
        """See `StepModel`; None where nothing is learnt yet."""
        model = self.policy.model
        peak = math.inf if model is None else model.peak_tokens_per_s
        return _finite(peak)

    def arrive(self, request: HostRequest) -> None:
        """A request that the ledger knows is about to be queued."""
        ttft_s, tpot_s = limits_of(request, self._defaults)
        if (math.isfinite(ttft_s) or math.isfinite(tpot_s)) and request.request_id not in self.rows:
            rel = self._ledger.rel_of(request)
            self._rels[rel.rel_id] += 1
            self.rows[request.request_id] = Limited(request, rel, time.monotonic(), ttft_s, tpot_s)
            self._num_ttft += math.isfinite(ttft_s)

    def token(self, request_id: str) -> None:
        """A request has new tokens."""
        row = self.rows.get(request_id)
        if row is not None and row.first_s is None:
            row.first_s = self._clock.since_s
            self._look_at(row)

    def ended(self, request_id: str, aborted: bool = False) -> None:
        """A request left the engine."""
        row = self.rows.pop(request_id, None)
        self._cached.pop(request_id, None)
        if row is None:
            return
        self._num_ttft -= math.isfinite(row.ttft_slo_s)
        rel_id = row.rel.rel_id
        self._rels[rel_id] -= 1
        if not self._rels[rel_id]:
            del self._rels[rel_id]
        self._look_at(row)
        if not aborted:
            self.policy.ended(row.ended(self._clock.since_s))

    def plan(self) -> StepPlan | None:
        """The next step in vLLM's own order, within its budget; None where that changes nothing."""
        own = StepPlan(self._scheduler.running)
        plan = self.bounded(own, self._waiting)
        return None if plan is own else plan

    def _waiting(self, plan: StepPlan) -> Iterator[HostRequest]:
        held = plan.held_requests
        return (request for request in self._scheduler.waiting if request.request_id not in held)

    def bounded(self, plan: StepPlan, waiting: Callable[[StepPlan], Iterable[HostRequest]]) -> StepPlan:
        """A plan within the step's budget: who is late anyway lets others go first.

        Args:
            waiting: the rows that may be admitted under a plan, in order.
        """
        if late := self.late(waiting(plan)):
            plan = replace(plan, held_requests=plan.held_requests | late)
        budget = self._choose(plan.running, waiting(plan))
        if budget is None:
            return plan
        admits = max(budget.requests - len(plan.running) - len(plan.held_back), 0)
        admits = admits if plan.max_admit is None else min(admits, plan.max_admit)
        tokens = budget.tokens if plan.token_budget is None else min(budget.tokens, plan.token_budget)
        running = plan.running
        if plan.order is not None:  # else vLLM's own order: what decodes gets its token first
            running = sorted(running, key=attrgetter("is_prefill_chunk"))
        return replace(plan, running=running, max_admit=admits, token_budget=tokens)

    def late(self, waiting: Iterable[HostRequest]) -> frozenset[str]:
        """Who of those that wait lets others go first in the next step: see `policies.budget.late`."""
        token_s, self._num_late = self.policy.token_s, 0
        if token_s is None or not self._num_ttft or self._is_stalled or host.has_priorities(self._scheduler):
            return frozenset()
        began_s, now_s, row_of = time.perf_counter(), time.monotonic(), self.rows.get
        seen = Late(token_s, self._room())
        for request in islice(waiting, MOST_LATE):
            row = row_of(request.request_id)
            if row is not None and row.first_s is None:
                seen.see(request.request_id, now_s - row.arrival_s, row.ttft_slo_s, request.num_tokens)
        held = seen.held()
        self._num_late, self._looked_s = len(held), time.perf_counter() - began_s
        return held

    def _room(self) -> float:
        """Prompt tokens that the next step has for those that wait, about; 0 while a prompt is at work."""
        running = self._scheduler.running
        if self.latest is None or any(map(attrgetter("is_prefill_chunk"), running)):
            return 0.0
        return float(self.latest.tokens - len(running))

    def freed(self, decision: StepDecision) -> StepDecision:
        """The decision under which nobody with a limit is held back."""
        if not self._rels or (decision.decode is None and decision.prefill is None):
            return decision
        limited = frozenset(self._rels)
        decode, prefill, most = decision.decode, decision.prefill, decision.max_admit
        if most is not None and prefill is not None:
            active = self._ledger.active
            late = [active[rel_id].num_waiting for rel_id in limited - prefill if rel_id in active]
            most += sum(late)
        return replace(
            decision, max_admit=most, decode=None if decode is None else decode | limited,
            prefill=None if prefill is None else prefill | limited,
        )  # fmt: skip

    def scheduled(self, output: StepOutput) -> None:
        """A step was scheduled, which the clock knows if it computes anything."""
        num_tokens = output.total_num_scheduled_tokens
        self._is_stalled = self._is_bound and not num_tokens
        if not num_tokens:
            return
        self.step_s = None
        if not self.is_active:
            return
        clock, model = self._clock, self.policy.model
        if model is not None and model.is_ready:
            began_s = max(self._ends_s, clock.since_s) if clock.num_in_flight > 1 else time.monotonic()
            self.step_s = model.seconds(clock.latest)
            self._ends_s = began_s + self.step_s

    def measured(self, work: Work, seconds: float) -> None:
        """A step is over: have it learnt how long it took."""
        if not self.is_active:
            return
        self._num_measured += 1
        self._least_s = min(self._least_s, seconds)
        self._learner.put(self.policy.measured, work, seconds)

    def _choose(self, running: Sequence[HostRequest], waiting: Iterable[HostRequest]) -> Budget | None:
        """The budget of a step that is to be scheduled now; None: as the engine has it."""
        self._is_bound = False
        if not self.is_active or self._is_stalled:
            return None
        began_s = time.perf_counter()
        view = self._view(running, waiting)
        budget = self.policy.choose(view)
        self.decisions_s.append(time.perf_counter() - began_s + self._looked_s)
        self._looked_s = 0.0
        self.num_decisions += 1
        if view.only_decodes:
            return None
        if self._num_late:
            message = f"{budget.reason}; {self._num_late} late let others go first"
            self.latest = budget._replace(reason=message)
        else:
            self.latest = budget
        self._is_bound = True
        return budget

    def _view(self, running: Sequence[HostRequest], waiting: Iterable[HostRequest]) -> BudgetView:
        scheduler = self._scheduler
        most_tokens, most_requests = scheduler.max_num_scheduled_tokens, host.admission_cap(scheduler)
        now_s = max(time.monotonic(), self._ends_s) if self._clock.num_in_flight else time.monotonic()
        begun = [request for request in running if request.is_prefill_chunk]
        prompts = self._prompts(begun, waiting, most_tokens, most_requests - len(running))
        if not len(prompts.uncomputed):  # then a step has nothing to be cut
            return BudgetView(now_s, NO_DECODES, NO_PROMPTS, most_tokens, most_requests)
        decodes = [request for request in running if not request.is_prefill_chunk]
        return BudgetView(now_s, self._decodes(decodes, now_s), prompts, most_tokens, most_requests)

    def _decodes(self, decodes: Sequence[HostRequest], now_s: float) -> Decodes:
        """A column at a time, as quickly as can be: it is done in each step for every row.

        A row without a first token has it computed just now.
        """
        row_of = self.rows.get
        rows = [row_of(request.request_id, NO_LIMITS) for request in decodes]
        given = [request.num_output_tokens for request in decodes]
        ahead = [request.num_output_placeholders for request in decodes]
        lefts = [row.rel.lengths.expected_left for row in rows]
        expected = [left[num if num < len(left) else -1] for left, num in zip(lefts, given, strict=True)]
        return Decodes(
            np.array([now_s if row.first_s is None else row.first_s for row in rows]),
            np.maximum(np.array(given, dtype=float) + ahead, 1.0),
            np.maximum(np.array(expected, dtype=float), 1.0),
            np.array([row.tpot_slo_s for row in rows]),
            float(sum([request.num_computed_tokens for request in decodes])),
        )

    def _prompts(
        self, begun: Sequence[HostRequest], waiting: Iterable[HostRequest], most_tokens: int, slots: int
    ) -> Prompts:
        """Those at work, and as many of those that wait as a step could take."""
        table: list[tuple[float, ...]] = []
        tokens, looks = 0, LOOKS
        for request in begun:
            done = request.num_computed_tokens
            tokens += request.num_tokens - done
            table.append(self._prompt(request, done))
        for request in waiting:
            if slots <= 0 or tokens >= most_tokens:
                break
            known = request.request_id in self._cached
            if not known and looks > 0:
                looks, known = looks - 1, True
                self._cached[request.request_id] = host.num_cached_tokens(self._scheduler, request)
            done = self._cached[request.request_id] if known else 0
            slots, tokens = slots - 1, tokens + request.num_tokens - done
            table.append(self._prompt(request, done))
        if not table:
            return NO_PROMPTS
        arrival, left, done_column, ttft, tpot = np.array(table, dtype=float).T
        return Prompts(arrival, left, done_column, ttft, tpot, len(begun))

    def _prompt(self, request: HostRequest, done: int) -> tuple[float, ...]:
        row, left = self.rows.get(request.request_id), max(request.num_tokens - done, 1)
        if row is None:
            return 0.0, left, done, math.inf, math.inf
        has_said = row.first_s is not None
        return row.arrival_s, left, done, math.inf if has_said else row.ttft_slo_s, row.tpot_slo_s

    def _look_at(self, row: Limited) -> None:
        """Say once of a limit that it is shorter than any step was."""
        limit_s = min(row.tpot_slo_s, row.ttft_slo_s)
        if limit_s >= self._least_s or self._num_measured < SURE or limit_s in self._warned:
            return
        if len(self._warned) < SURE:
            self._warned.add(limit_s)
            logger.warning(
                "requests ask for a token within %.4g ms, and none of %s steps took less than %.4g ms: they "
                "will be late",
                1e3 * limit_s, f"{self._num_measured:,}", 1e3 * self._least_s,
            )  # fmt: skip

    def status(self) -> BudgetStatus:
        """What `relserve top` shows."""
        model, latest = self.policy.model, self.latest if self.is_active else None
        taken = sorted(self.decisions_s)
        return BudgetStatus(
            self.policy.name, len(self.rows),
            None if latest is None else latest.tokens,
            None if latest is None else latest.reason,
            None if latest is None else _finite(latest.target_s),
            None if model is None else _finite(model.r2()),
            _finite(1e3 * taken[len(taken) // 2]) if taken else None,
            _finite(self._least_s),
        )  # fmt: skip


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
