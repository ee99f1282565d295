"""Steering vLLM's scheduler: each step has its plan, and what came of it is learnt."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Protocol

from relserve.policies.model.work import Work
from relserve.policies.scheduling.driver import RelQueryOutlook
from relserve.vllm_plugin import host
from relserve.vllm_plugin.budget.steps import StepBudgets
from relserve.vllm_plugin.cache.scheduling_planner import CachePlanner
from relserve.vllm_plugin.cache.scheduling_types import RowTypes
from relserve.vllm_plugin.host import Host, StepOutput
from relserve.vllm_plugin.kept_lengths import KeptLengths
from relserve.vllm_plugin.learner import StepLearner
from relserve.vllm_plugin.ledger import RelRecord, RowLedger
from relserve.vllm_plugin.queue import ForwardingQueue, RelQueue
from relserve.vllm_plugin.relquery_planner import RelQueryPlanner
from relserve.vllm_plugin.settings import SchedulerSettings
from relserve.vllm_plugin.step_plan import StepPlan


class Planner(Protocol):
    """Plans each step by a policy, and changes nothing of vLLM's.

    Attributes:
        queue: what the scheduler is to admit from.
        lengths: what is learnt of outputs' lengths, and its file.
    """

    queue: RelQueue
    lengths: KeptLengths

    def plan(self, step: int) -> StepPlan | None:
        """What the next step, of this number, is to do; None where vLLM is to do all that it can."""

    def settle(self, plan: StepPlan | None, has_scheduled: bool) -> None:
        """Take note of whether the planned step computes anything."""

    def learn(self, work: Work, seconds: float) -> None:
        """Learn how long a step took; the learner's thread calls this."""

    def outlooks(self, rels: Sequence[RelRecord]) -> Sequence[RelQueryOutlook | None]:
        """How some of the relQueries stand that the queue's order holds."""

    def miss_ratio(self, rel_id: str) -> float:
        """The share of a relQuery's prompts that the prefix cache lacks, as measured last; 1 if never."""

    def report(self) -> dict[str, Any]:
        """Counters for benchmarks."""

    def close(self) -> None:
        """The end."""


class Steering:
    """Leads a vLLM scheduler by a policy of relQueries or by a caching policy.

    Attributes:
        planner: plans the steps.
        queue, lengths: the planner's.
        num_steps: steps planned so far.
        policy_s: seconds spent on plans so far.
    """

    def __init__(
        self,
        scheduler: Host,
        ledger: RowLedger,
        settings: SchedulerSettings,
        types: RowTypes,
        budgets: StepBudgets | None = None,
        learner: StepLearner | None = None,
    ) -> None:
        self._learner = learner or StepLearner()
        self.planner: Planner
        if settings.caching:
            self.planner = CachePlanner(scheduler, ledger, settings, types)
        else:
            self.planner = RelQueryPlanner(scheduler, ledger, settings, types, budgets)
        self.queue, self.lengths = self.planner.queue, self.planner.lengths
        host.set_queue(scheduler, self.queue, ForwardingQueue(self.queue))
        self.num_steps, self.policy_s = 0, 0.0

    def plan(self) -> StepPlan | None:
        """What the next step is to do; None where vLLM is to do all that it can."""
        began = time.perf_counter()
        self.num_steps += 1
        plan = self.planner.plan(self.num_steps)
        self.policy_s += time.perf_counter() - began
        return plan

    def settle(self, plan: StepPlan | None, output: StepOutput) -> None:
        """Take note of a planned step that vLLM has scheduled."""
        self.planner.settle(plan, output.total_num_scheduled_tokens > 0)

    def measured(self, work: Work, seconds: float) -> None:
        """A step is over: have it learnt how long it took."""
        self._learner.put(self.planner.learn, work, seconds)

    def report(self) -> dict[str, Any]:
        """Counters for benchmarks."""
        return {"steps": self.num_steps, "policy_s": self.policy_s, **self.planner.report()}

    def close(self) -> None:
        """The end: write what was learnt."""
        self.lengths.close()
        self.planner.close()
