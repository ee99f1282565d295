"""Steering vLLM's scheduler by a caching policy: its plan says which requests run, and as what they are kept.

As in `relserve.vllm_plugin.steering`, nothing of vLLM's `schedule()` is copied: before it is called, requests
that the plan drops lose their memory, those that it lets pause are hidden, and the waiting queue shows those
that it admits; afterwards everything is put back.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from relserve.policies.caching.state import CachePlan
from relserve.policies.caching.variants import make
from relserve.policies.model.cache_costs import MeasuredCosts
from relserve.policies.model.work import Work
from relserve.vllm_plugin import host
from relserve.vllm_plugin.cache import scheduling_host
from relserve.vllm_plugin.cache.scheduling_costs import first_costs
from relserve.vllm_plugin.cache.scheduling_queue import PlannedQueue
from relserve.vllm_plugin.cache.scheduling_types import RowTypes
from relserve.vllm_plugin.cache.scheduling_view import RequestTable
from relserve.vllm_plugin.host import Host, HostRequest
from relserve.vllm_plugin.kept_lengths import KeptLengths
from relserve.vllm_plugin.learner import StepLearner
from relserve.vllm_plugin.ledger import RelRecord, RowLedger
from relserve.vllm_plugin.narrowing import narrowed
from relserve.vllm_plugin.settings import SchedulerSettings

STALLED = CachePlan((), (), "mixed", "everything")


class PlannedSteering:
    """Leads a vLLM scheduler by a caching policy; see `relserve.vllm_plugin.steering.Steering`.

    A plan under which nothing can be scheduled, although there are requests, is followed by a step that shows
    all of them.

    Attributes:
        policy: decides.
        queue: what the scheduler admits from.
        lengths: what is learnt of outputs' lengths, and its file.
        costs: what steps cost, learnt from them.
        reasons: how often each case decided.
        num_dropped: requests that lost what they held by a plan's word.
        policy_s: seconds spent on decisions so far.
    """

    def __init__(
        self, scheduler: Host, ledger: RowLedger, settings: SchedulerSettings, types: RowTypes,
        learner: StepLearner,
    ) -> None:  # fmt: skip
        self.scheduler, self.types, self._learner = scheduler, types, learner
        self.policy = make(settings.caching)
        self.lengths = KeptLengths(Path(settings.lengths_path) if settings.lengths_path else None)
        ledger.lengths_of = self.lengths.learner.of
        self.queue = PlannedQueue(ledger)
        host.set_queue(scheduler, self.queue, self.queue)
        self.table = RequestTable(scheduler, self.queue, ledger, types, settings)
        self.costs = MeasuredCosts(first_costs(scheduler, settings, types))
        self.reasons: Counter[str] = Counter()
        self.num_steps = self.num_dropped = 0
        self.policy_s = 0.0
        self._is_stalled = False

    def arrive(self, request: HostRequest) -> None:
        """A request is about to be queued, of which there is nothing to note here."""

    def schedule(self, step: Callable[[], Any]) -> Any:
        """Run one step of vLLM's scheduler (`step` calls it) under the policy's plan."""
        began = time.perf_counter()
        self.num_steps += 1
        view = self.table.view(self.costs.model)
        plan = STALLED if self._is_stalled else self.policy.plan(view)
        self.reasons[plan.reason] += 1
        self._drop(plan)
        self.policy_s += time.perf_counter() - began
        output = self._planned(step, plan)
        began = time.perf_counter()
        has_scheduled = output.total_num_scheduled_tokens > 0
        self._is_stalled = not has_scheduled and len(view.requests) > 0
        self.policy_s += time.perf_counter() - began
        return output

    def _drop(self, plan: CachePlan) -> None:
        """Take memory from those that the plan drops."""
        for request_id in plan.drop:
            scheduling_host.preempt(self.scheduler, self.scheduler.requests[request_id])
            self.table.requests.hold(request_id, None, 0)  # it may run in this very step, as the other type
            self.num_dropped += 1

    def _planned(self, step: Callable[[], Any], plan: CachePlan) -> Any:
        """Have vLLM schedule what the plan says, in its order and types, and put everything back."""
        scheduler = self.scheduler
        if plan is STALLED:
            return step()
        for request_id, cache in plan.run:
            self.types.plan(request_id, cache)
        order = [request_id for request_id, _ in plan.run]
        running = {request.request_id: request for request in scheduler.running}
        shown = [running.pop(request_id) for request_id in order if request_id in running]
        self.queue.show(order)
        try:
            return narrowed(scheduler, step, shown, list(running.values()), token_budget=plan.most_tokens)
        finally:
            self.queue.show_all()
            self.types.forget_plans()

    def measured(self, work: Work, seconds: float) -> None:
        """A step is over: have it learnt how long it took."""
        self._learner.put(self.costs.add, work, seconds)

    def outlooks(self, rels: Sequence[RelRecord]) -> list[None]:
        """A caching policy forecasts nothing of relQueries."""
        return [None] * len(rels)

    def report(self) -> dict[str, Any]:
        """Counters for benchmarks."""
        costs = self.costs.model
        return {
            "variant": self.policy.name, "steps": self.num_steps, "policy_s": self.policy_s,
            "reasons": dict(self.reasons), "dropped": self.num_dropped,
            "kv_token_s": costs.kv_token_s, "hidden_token_s": costs.hidden_token_s,
        }  # fmt: skip

    def close(self) -> None:
        """The end: bring the file of lengths up to date."""
        self.lengths.close()
