"""Steering vLLM's scheduler by a caching policy: its plan says which requests run, and as what they are kept.

As in `relserve.vllm_plugin.steering`, nothing of vLLM's `schedule()` is copied: before it is called, requests
that the plan drops lose their memory, those that it lets pause are hidden, and the waiting queue shows those
that it admits; afterwards everything is put back.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from relserve.policies.caching.state import CachePlan
from relserve.policies.caching.variants import make
from relserve.policies.model.cache_costs import MeasuredCosts
from relserve.policies.model.work import Work
from relserve.vllm_plugin import host
from relserve.vllm_plugin.cache.scheduling_costs import first_costs
from relserve.vllm_plugin.cache.scheduling_types import RowTypes
from relserve.vllm_plugin.cache.scheduling_view import RequestTable
from relserve.vllm_plugin.host import Host, HostRequest, StepOutput
from relserve.vllm_plugin.kept_lengths import KeptLengths
from relserve.vllm_plugin.learner import StepLearner
from relserve.vllm_plugin.ledger import RelRecord, RowLedger
from relserve.vllm_plugin.queue import ForwardingQueue, RelQueue
from relserve.vllm_plugin.settings import SchedulerSettings
from relserve.vllm_plugin.step_plan import StepPlan

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
        self.queue = RelQueue(ledger, by_request=True)
        host.set_queue(scheduler, self.queue, ForwardingQueue(self.queue))
        self.table = RequestTable(scheduler, self.queue, ledger, types, settings)
        self.costs = MeasuredCosts(first_costs(scheduler, settings, types))
        self.reasons: Counter[str] = Counter()
        self.num_steps = self.num_dropped = 0
        self.policy_s = 0.0
        self._is_stalled = False

    def arrive(self, request: HostRequest) -> None:
        """A request is about to be queued, of which there is nothing to note here."""

    def plan(self) -> StepPlan | None:
        """What the next step is to do; None where it is to show all there is."""
        began = time.perf_counter()
        self.num_steps += 1
        view = self.table.view(self.costs.model)
        plan = STALLED if self._is_stalled else self.policy.plan(view)
        self.reasons[plan.reason] += 1
        found = None if plan is STALLED else self._plan_of(plan)
        self.policy_s += time.perf_counter() - began
        return found

    def _plan_of(self, plan: CachePlan) -> StepPlan:
        """A caching policy's plan of requests by name, as one of rows."""
        for request_id in plan.drop:  # each may run in this very step, as the other type
            self.table.requests.hold(request_id, None, 0)
        self.num_dropped += len(plan.drop)
        dropped = set(plan.drop)
        running = {each.request_id: each for each in self.scheduler.running if each.request_id not in dropped}
        shown = [running.pop(request_id) for request_id, _ in plan.run if request_id in running]
        at_work = {request.request_id for request in shown}
        types = {request_id: cache for request_id, cache in plan.run if request_id not in at_work}
        return StepPlan(
            shown, list(running.values()), admit=list(types), token_budget=plan.most_tokens, types=types,
            drop=plan.drop,
        )  # fmt: skip

    def settle(self, plan: StepPlan | None, output: StepOutput) -> None:
        """Take note of a step that vLLM has scheduled."""
        self._is_stalled = not output.total_num_scheduled_tokens and len(self.table.requests) > 0

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
