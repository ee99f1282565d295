"""A scheduling policy put together: priority, starvation guard, arrangement, and room kept for outputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from relserve.policies.cost import CostModel
from relserve.policies.scheduling.arrange import Arrangement, Candidate, StepView
from relserve.policies.scheduling.guard import Guard
from relserve.policies.scheduling.priority import MissRatio, Priority, urgency
from relserve.policies.scheduling.state import FreeCapacity, Limits, RelState, StepDecision


@dataclass
class SchedulingPolicy:
    """Decides one step at a time; owns no queue and no clock.

    Attributes:
        room_share: admit a row only if this share of the outputs still to come, by their caps, fits too;
            None admits whatever fits now, as vLLM does.
    """

    name: str
    priority: Priority
    arrangement: Arrangement
    guard: Guard
    reserve_share: float | None = None

    def order(
        self,
        states: Iterable[RelState],
        now_s: float,
        cost: CostModel,
        limits: Limits,
        miss_ratio: MissRatio,
    ) -> list[RelState]:
        """All relQueries, most urgent first, with priorities up to date."""
        states = list(states)
        self.priority.update(states, cost, limits, miss_ratio)
        self.guard.update(states, now_s, cost, limits)
        return sorted(states, key=urgency)

    def plan(
        self, order: list[RelState], free_capacity: FreeCapacity, cost: CostModel, limits: Limits
    ) -> StepDecision:
        """What the next step computes.

        Args:
            order: what `order` gave.
            room: slots and KV tokens that are free now.
        """
        plan = self.arrangement.decide(StepView(order, self.candidates(order, free_capacity, limits), cost))
        return plan if self.reserve_share is not None else replace(plan, max_admit=None)

    def candidates(
        self, order: list[RelState], free_capacity: FreeCapacity, limits: Limits
    ) -> list[Candidate]:
        """The prefill batches that fit one step together, most urgent first.

        A relQuery's batch is what its unfinished prompts still need, then waiting rows taken as equal to
        their mean. The first relQuery whose waiting rows do not all fit ends the list.
        """
        share = self.reserve_share or 0.0
        free, slots = (
            free_capacity.kv_tokens - share * sum(s.sum_decode_left for s in order),
            free_capacity.slots,
        )
        budget = float(limits.max_num_batched_tokens - sum(s.num_decoding for s in order))
        must_take_one = not any(s.num_running for s in order)  # an empty engine takes a row, however large
        found: list[Candidate] = []
        for state in order:
            if budget <= 0:
                break
            tokens, rows, held_up = float(min(state.prefill_left, budget)), 0, False
            if state.num_waiting and budget > tokens:
                uncached = max(state.waiting_tokens / state.num_waiting * state.miss_ratio, 1.0)
                need = uncached + limits.block_size / 2 + share * state.output_cap
                wanted = min(int((budget - tokens) / uncached) or 1, state.num_waiting)
                rows = max(min(int(free / need), slots, wanted), 1 if must_take_one and not found else 0)
                held_up = rows < wanted
                tokens += min(rows * uncached, budget - tokens)
                free, slots = free - rows * need, slots - rows
            if tokens:
                found.append(Candidate(state, tokens, rows, held_up))
                budget -= tokens
            if rows < state.num_waiting:
                break
        return found
