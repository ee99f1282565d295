"""Steering vLLM's scheduler: each step it is shown only the rows that the plan lets run.

Nothing of vLLM's `schedule()` is copied or replaced. Before it is called, the running rows are put in order
of urgency (its preemption victim is the last), those that the plan holds back are hidden, and the waiting
queue's gate is set; afterwards everything is put back.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relserve.policies.cost import OnlineCost, StepSample
from relserve.policies.scheduling.decompose import pem
from relserve.policies.scheduling.priority import urgency
from relserve.policies.scheduling.state import FreeCapacity, Limits, RelState, StepDecision
from relserve.policies.scheduling.variants import make as make_policy
from relserve.vllm_plugin.identity import Identity
from relserve.vllm_plugin.queue import ForwardingQueue, RelQueue
from relserve.vllm_plugin.settings import SchedulerSettings
from relserve.vllm_plugin.view import RelView, state_of

if TYPE_CHECKING:
    from relserve.vllm_plugin.scheduler import RelQueryTracking

EVERYTHING = StepDecision(None, None, None, "everything")
SAMPLE_EVERY = 8  # steps between looks into the prefix cache for one relQuery


class Steering:
    """Holds the policy and what it knows; `scheduler` is the vLLM scheduler that it steers."""

    def __init__(self, scheduler: RelQueryTracking, settings: SchedulerSettings) -> None:
        self.scheduler: Any = scheduler
        self.settings = settings
        self.policy = make_policy(settings.variant, settings.starvation_s, settings.patience)
        self.cost = OnlineCost(settings.first_cost)
        self.view = RelView(settings.sample_size)
        self.queue = RelQueue(state_of)
        self.scheduler.waiting = self.queue
        if hasattr(self.scheduler, "skipped_waiting"):
            # vLLM up to 0.30 has rows with a grammar wait in a queue of their own, past our order and gate.
            self.scheduler.skipped_waiting = ForwardingQueue(self.queue)
        self.limits = self._limits()
        self.reasons: Counter[str] = Counter()
        self.policy_s = 0.0
        self.num_steps = 0
        # vLLM 0.31 split the cap on admissions from that on rows in the runner.
        self._cap = (
            "max_num_active_reqs" if hasattr(scheduler, "max_num_active_reqs") else "max_num_running_reqs"
        )
        self._pending: dict[int, tuple[int, int]] = {}
        self.busy_since_s = 0.0  # by perf_counter: the engine's latest rest, or step, ended then
        self._sampled_at: dict[str, int] = {}
        self._force = False

    def _limits(self) -> Limits:
        s = self.scheduler
        blocks = s.kv_cache_manager.block_pool.num_gpu_blocks
        return Limits(s.max_num_running_reqs, s.max_num_scheduled_tokens, blocks * s.block_size, s.block_size)

    def arrive(self, request: Any, identity: Identity) -> None:
        """A request came; to be called before vLLM queues it."""
        if not self.scheduler.requests:
            self.busy_since_s = time.perf_counter()
        self.view.arrive(request, identity, time.monotonic())
        state = state_of(request)
        if state.waiting_row_tokens is None:
            state.waiting_row_tokens = lambda: [row.num_tokens for row in self.queue.rows(state.rel_id)]

    def schedule(self, step: Any) -> Any:
        """Run one step of vLLM's scheduler (`step` calls it) under the policy's plan."""
        began = time.perf_counter()
        s = self.scheduler
        self.view.renew(s.running, s.tracker.active)
        order = self.policy.order(
            self.view.states.values(), time.monotonic(), self.cost.model, self.limits, self._miss_ratio
        )
        self.queue.order = [state.rel_id for state in order]
        plan = (
            EVERYTHING
            if self._force
            else self.policy.plan(order, self._free_capacity(), self.cost.model, self.limits)
        )
        rank = {state.rel_id: i for i, state in enumerate(order)}
        running = sorted(s.running, key=lambda r: rank[state_of(r).rel_id])
        shown: list[Any] = []
        hidden: list[Any] = []
        for request in running:
            (shown if _may_run(request, plan) else hidden).append(request)
        self.policy_s += time.perf_counter() - began
        output = self._narrowed(step, shown, hidden, plan)
        began = time.perf_counter()
        self._record(output, plan, bool(hidden))
        self.policy_s += time.perf_counter() - began
        return output

    def _narrowed(self, step: Any, shown: list[Any], hidden: list[Any], plan: StepDecision) -> Any:
        s, queue = self.scheduler, self.queue
        cap = getattr(s, self._cap)
        most = cap - len(hidden)  # hidden rows keep their place in the runner
        if plan.max_admit is not None:
            most = min(most, len(shown) + plan.max_admit)
        s.running, queue.visible = shown, plan.prefill
        setattr(s, self._cap, max(most, len(shown)))
        try:
            return step()
        finally:
            setattr(s, self._cap, cap)
            s.running = s.running + hidden
            queue.visible = None

    def _record(self, output: Any, plan: StepDecision, hid: bool) -> None:
        """Count the step, and note when rows were first scheduled and what the step computes."""
        s = self.scheduler
        self.reasons[plan.reason] += 1
        self.num_steps += 1
        total = output.total_num_scheduled_tokens
        # A plan under which nothing fits must not stall the engine: the next step holds nothing back.
        self._force = not total and (hid or len(self.queue) > 0)
        now_s = time.monotonic()
        for new in output.scheduled_new_reqs:
            state = state_of(s.requests[new.req_id])
            if state.first_scheduled_s is None:
                state.first_scheduled_s = now_s
        if not total:
            return
        self._pending[id(output)] = composition(output, s.requests)

    def step_done(self, output: Any) -> None:
        """A step's result is in: learn how long it took.

        From the end of the step before, so that all of a step counts: scheduling and the outputs' way out
        are time in which nothing else runs (measured: 8 to 10 % of the time on a CPU).
        """
        now_s = time.perf_counter()
        pending = self._pending.pop(id(output), None)
        if pending is not None:
            self.cost.add(StepSample(*pending, now_s - self.busy_since_s))
        self.busy_since_s = now_s

    def _free_capacity(self) -> FreeCapacity:
        s = self.scheduler
        free = s.kv_cache_manager.block_pool.get_num_free_blocks()
        slots = getattr(s, self._cap) - len(s.running)
        return FreeCapacity(max(slots, 0), free * self.limits.block_size)

    def _miss_ratio(self, state: RelState) -> float:
        """Eq. 11, by looking sampled rows up in vLLM's prefix cache without touching it.

        Looked up anew after SAMPLE_EVERY steps; in between the ratio hardly moves.
        """
        if self.num_steps - self._sampled_at.get(state.rel_id, -SAMPLE_EVERY) < SAMPLE_EVERY:
            return state.miss_ratio
        if len(self._sampled_at) > 2 * len(self.view.states):
            self._sampled_at = {k: v for k, v in self._sampled_at.items() if k in self.view.states}
        self._sampled_at[state.rel_id] = self.num_steps
        manager = self.scheduler.kv_cache_manager
        rows = self.queue.rows(state.rel_id)
        if not manager.enable_caching or not rows:
            return 1.0
        find = manager.coordinator.find_longest_cache_hit
        tokens = cached = 0
        for row in self.view.sample(rows):
            tokens += row.num_tokens
            cached += find(row.block_hashes, row.num_tokens - 1)[1]
        return 1.0 - cached / max(tokens, 1)

    def outlook(self, rel_id: str) -> tuple[float | None, float] | None:
        """By what a relQuery is ordered, None for its arrival, and the predicted seconds that it has left."""
        state = self.view.states.get(rel_id)
        if state is None:
            return None
        value = None if state.priority in (None, state.arrival_s) else urgency(state)[0]
        return value, pem(state, self.cost.model, self.limits).alone_s

    def report(self) -> dict[str, Any]:
        """Counters for benchmarks."""
        model = self.cost.model
        return {
            "variant": self.policy.name, "steps": self.num_steps, "policy_s": self.policy_s,
            "reasons": dict(self.reasons), "cost": [
                model.prefill_per_token_s, model.prefill_base_s, model.decode_per_request_s,
                model.decode_base_s, model.shared_base_s,
            ],
        }  # fmt: skip

    def write_report(self) -> None:
        """Leave the counters where the settings say."""
        if self.settings.report_path:
            Path(self.settings.report_path).write_text(json.dumps(self.report()) + "\n")


def composition(output: Any, requests: Mapping[str, Any]) -> tuple[int, int]:
    """What a scheduled step computes: prompt tokens, and requests that decode."""
    prefill_tokens = num_decodes = 0
    for request_id, tokens in output.num_scheduled_tokens.items():
        request = requests[request_id]
        # vLLM has already advanced num_computed_tokens by this step's tokens.
        if request.num_computed_tokens - tokens >= request.num_prompt_tokens:
            num_decodes += 1
        else:
            prefill_tokens += tokens
    return prefill_tokens, num_decodes


def _may_run(request: Any, plan: StepDecision) -> bool:
    allowed = plan.prefill if request.is_prefill_chunk else plan.decode
    return allowed is None or state_of(request).rel_id in allowed
