"""Plans steps by a caching policy: its plan of requests by name becomes one of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from relserve.policies.caching.state import CachePlan
from relserve.policies.caching.variants import make
from relserve.policies.model.cache_costs import MeasuredCosts
from relserve.policies.model.work import Work
from relserve.vllm_plugin.cache.scheduling_costs import first_costs
from relserve.vllm_plugin.cache.scheduling_types import RowTypes
from relserve.vllm_plugin.cache.scheduling_view import RequestTable
from relserve.vllm_plugin.host import Host
from relserve.vllm_plugin.kept_lengths import KeptLengths
from relserve.vllm_plugin.ledger import RelRecord, RowLedger
from relserve.vllm_plugin.queue import RelQueue
from relserve.vllm_plugin.settings import SchedulerSettings
from relserve.vllm_plugin.step_plan import StepPlan

STALLED = CachePlan((), (), "mixed", "everything")


class CachePlanner:
    """Plans steps by a caching policy; see `relserve.vllm_plugin.steering.Planner`.

    A plan under which nothing can be scheduled, although there are requests, is followed by a step that shows
    all of them.

    Attributes:
        policy: decides.
        queue: what the scheduler admits from.
        lengths: what is learnt of outputs' lengths, and its file.
        table: the requests as the policy reads them.
        costs: what steps cost, learnt from them.
        reasons: how often each case decided.
        num_dropped: requests that lost what they held by a plan's word.
    """

    def __init__(
        self, scheduler: Host, ledger: RowLedger, settings: SchedulerSettings, types: RowTypes
    ) -> None:
        self.scheduler = scheduler
        self.policy = make(settings.caching)
        self.lengths = KeptLengths(Path(settings.lengths_path) if settings.lengths_path else None)
        ledger.lengths_of = self.lengths.learner.of
        self.queue = RelQueue(ledger, by_request=True)
        self.table = RequestTable(scheduler, self.queue, ledger, types, settings)
        self.costs = MeasuredCosts(first_costs(scheduler, settings, types))
        self.reasons: Counter[str] = Counter()
        self.num_dropped = 0
        self._is_stalled = False

    def plan(self, step: int) -> StepPlan | None:
        """See `Planner.plan`."""
        view = self.table.view(self.costs.model)
        plan = STALLED if self._is_stalled else self.policy.plan(view)
        self.reasons[plan.reason] += 1
        return None if plan is STALLED else self._plan_of(plan)

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

    def settle(self, plan: StepPlan | None, has_scheduled: bool) -> None:
        """See `Planner.settle`."""
        self._is_stalled = not has_scheduled and len(self.table.requests) > 0

    def learn(self, work: Work, seconds: float) -> None:
        """See `Planner.learn`."""
        self.costs.add(work, seconds)

    def miss_ratio(self, rel_id: str) -> float:
        """See `Planner.miss_ratio`; the policy asks by request, so none is measured."""
        return 1.0

    def outlooks(self, rels: Sequence[RelRecord]) -> list[None]:
        """See `Planner.outlooks`; a caching policy forecasts nothing of relQueries."""
        return [None] * len(rels)

    def report(self) -> dict[str, Any]:
        """See `Planner.report`."""
        costs = self.costs.model
        return {
            "variant": self.policy.name, "reasons": dict(self.reasons), "dropped": self.num_dropped,
            "kv_token_s": costs.kv_token_s, "hidden_token_s": costs.hidden_token_s,
        }  # fmt: skip

    def close(self) -> None:
        """Nothing is kept but lengths."""
