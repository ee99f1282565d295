"""What a scheduler tells the owner of the fleet that its engine belongs to; see `docs/fleet.md`.

Told at most 50 times a second, when a step has been scheduled, and at once where the engine has become busy
or idle. It is counted within a step, so some rows are looked at, and the others taken to be like these.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import NamedTuple, Protocol

from relserve.call.rel_tag import dispatch_of
from relserve.machine.state_message import Target
from relserve.policies.dispatch.state import Report
from relserve.policies.model.linear import CostModel
from relserve.policies.model.local_cost import LocalCost
from relserve.policies.model.work import Work
from relserve.vllm_plugin import host
from relserve.vllm_plugin.budget.steps import StepBudgets
from relserve.vllm_plugin.cache.scheduling_types import RowTypes
from relserve.vllm_plugin.host import Host, HostRequest, StepOutput
from relserve.vllm_plugin.learner import StepLearner
from relserve.vllm_plugin.ledger import RowLedger
from relserve.vllm_plugin.state_sender import StateSender
from relserve.vllm_plugin.step_clock import StepClock

logger = logging.getLogger(__name__)

LOOKS = 64  # relQueries, and rows that decode, that are looked at for a report
COST_EVERY_S = 0.2  # a cost model is sent so often at most; a datagram may be lost


class TelemetryHost(Host, Protocol):
    """A scheduler of which a fleet's owner is told."""

    ledger: RowLedger
    types: RowTypes
    clock: StepClock
    learner: StepLearner

    @property
    def budgets(self) -> StepBudgets | None: ...


class _Work(NamedTuple):
    """Of rows that run or wait: tokens of prompts, tokens of outputs to come, and rows."""

    prompt: float
    output: float
    rows: float


class Telemetry:
    """Reports of one scheduler.

    Args:
        missing: the share of a relQuery's prompts that the prefix cache lacks, by its id.
        first_cost: what steps are taken to cost before some were measured.

    Attributes:
        sender: sends them.
        spent_s: seconds that all this has taken so far, of the scheduler's thread.
    """

    def __init__(
        self, scheduler: TelemetryHost, target: Target, first_cost: CostModel, missing: Callable[[str], float]
    ) -> None:
        self._scheduler, self._missing = scheduler, missing
        self._cost = LocalCost(first_cost, 0.0)
        self._yours: set[str] = set()
        self._seen, self._cost_next_s = -1, 0.0
        self._was_idle = True
        self.spent_s = 0.0
        self.sender: StateSender | None = StateSender(target)
        self.tick()

    @classmethod
    def of(
        cls, scheduler: TelemetryHost, first_cost: CostModel, missing: Callable[[str], float]
    ) -> Telemetry | None:
        """That of an engine of a fleet, by its environment; None for one that is in none.

        Raises:
            UsageError: the variable of the environment makes no sense.
        """
        target = Target.read(os.environ)
        if target is None:
            return None
        if host.is_one_of_several(scheduler):
            logger.warning(
                "data parallel ranks tell no fleet's owner of their work: start each as a member of its own"
            )
            return None
        return cls(scheduler, target, first_cost, missing)

    def arriving(self, request: HostRequest) -> None:
        """A request is about to be queued."""
        params = request.sampling_params
        number = None if params is None else dispatch_of(params.extra_args)
        if number is not None:
            self._seen = max(self._seen, number)
            self._yours.add(request.request_id)

    def arrived(self) -> None:
        """It is queued: says at once that the engine has become busy."""
        if self._was_idle:
            self.tick()

    def ended(self, request_id: str) -> None:
        """A request has left."""
        self._yours.discard(request_id)

    def scheduled(self, output: StepOutput) -> None:
        """A step was scheduled."""
        if output.total_num_scheduled_tokens:
            self.tick()

    def measured(self, work: Work, seconds: float) -> None:
        """A step is over: have it learnt how long it took."""
        began_s = time.perf_counter()
        self._scheduler.learner.put(partial(self._learn, self._budget_tokens()), work, seconds)
        self.spent_s += time.perf_counter() - began_s

    def _learn(self, budget_tokens: float, work: Work, seconds: float) -> None:
        """The learner's thread does this."""
        self._cost.budget_tokens = budget_tokens
        self._cost.add(work, seconds)

    def rested(self) -> None:
        """Requests have left: says at once if none is there any more."""
        if not self._was_idle and not len(self._scheduler.ledger):
            self.tick()

    def tick(self) -> None:
        """Report if it is due, or news that cannot wait."""
        sender = self.sender
        if sender is None:
            return
        now_s = time.monotonic()
        is_idle = not len(self._scheduler.ledger)
        if not sender.is_due(now_s) and not is_idle:
            return
        began_s = time.perf_counter()
        try:
            sender.put(self.report(now_s), is_idle, now_s)
            self._was_idle = is_idle
        except Exception:  # of any kind: reports must not end the engine
            logger.warning("the fleet's owner is told no more of this engine", exc_info=True)
            self.close()
        self.spent_s += time.perf_counter() - began_s

    def report(self, now_s: float) -> Report:
        """What there is to do now; the sender numbers it."""
        scheduler, cost = self._scheduler, self._cost.model
        running, waiting = self._running(), self._waiting()
        num_running = len(scheduler.running)
        is_idle = not len(scheduler.ledger)
        free = scheduler.types.num_free_tokens(scheduler.types.default)
        tells_cost = now_s >= self._cost_next_s
        if tells_cost:
            self._cost_next_s = now_s + COST_EVERY_S
        return Report(
            step_s=0.0 if is_idle else self._step_s(cost), prompt_tokens=running.prompt + waiting.prompt,
            num_running=num_running, num_waiting=len(scheduler.ledger) - num_running,
            free_tokens=free - waiting.prompt - waiting.output,
            peak_tokens_per_s=self._peak_tokens_per_s(cost), waiting_tokens=waiting.prompt,
            output_tokens=running.output + waiting.output, budget_tokens=self._budget_tokens(),
            seen=self._seen, yours=len(self._yours), cost=cost if tells_cost else None,
        )  # fmt: skip

    def _step_s(self, cost: CostModel) -> float:
        """L_e: by the step budgets' model, LENS's of Eq. 1 or ours; else by what was learnt here."""
        budgets = self._scheduler.budgets
        known = None if budgets is None else budgets.step_s
        return cost.seconds(self._scheduler.clock.latest) if known is None else known

    def _peak_tokens_per_s(self, cost: CostModel) -> float:
        """P_max, of the same model."""
        budgets = self._scheduler.budgets
        known = None if budgets is None else budgets.peak_tokens_per_s
        return 1.0 / cost.prefill_per_token_s if known is None else known

    def _budget_tokens(self) -> float:
        """Tokens of the latest step at most."""
        budgets = self._scheduler.budgets
        latest = budgets.latest if budgets is not None and budgets.is_active else None
        return float(self._scheduler.max_num_scheduled_tokens if latest is None else latest.tokens)

    def _running(self) -> _Work:
        """What running rows have still to do, the step that runs included."""
        running = self._scheduler.running
        if not running:
            return _Work(0.0, 0.0, 0)
        begun = [row for row in running if row.is_prefill_chunk]
        prompt = sum([row.num_tokens - row.num_computed_tokens for row in begun])
        rel_of, looked = self._scheduler.ledger.rel_of, running[:: -(-len(running) // LOOKS)]
        output = 0.0
        for row in looked:
            left = rel_of(row).lengths.expected_left
            output += left[min(row.num_output_tokens, len(left) - 1)]
        of_step = float(self._scheduler.clock.latest.prefill_tokens)
        return _Work(prompt + of_step, output * len(running) / len(looked), len(running))

    def _waiting(self) -> _Work:
        """What rows that wait have to do, those included that their relQueries announced."""
        ledger = self._scheduler.ledger
        num_waiting = len(ledger) - len(self._scheduler.running)
        prompt = output = rows = 0.0
        if not num_waiting:
            return _Work(0.0, 0.0, 0)
        for rel in islice((rel for rel in ledger.active.values() if rel.num_waiting), LOOKS):
            unseen = rel.num_unseen
            tokens = rel.waiting_tokens + unseen * rel.mean_tokens
            prompt += tokens * self._missing(rel.rel_id)
            output += (rel.num_waiting + unseen) * rel.row_output
            rows += rel.num_waiting
        if len(ledger.active) > LOOKS and rows:
            share = max(num_waiting / rows, 1.0)
            prompt, output = prompt * share, output * share
        return _Work(prompt, output, num_waiting)

    def close(self) -> None:
        """Report no more."""
        if self.sender is not None:
            self.sender.close()
            self.sender = None
