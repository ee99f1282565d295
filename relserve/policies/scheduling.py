"""A scheduling policy put together: priority, starvation guard, arrangement, and room kept for outputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from relserve.policies.arrange import Arrangement, Candidate, Situation
from relserve.policies.cost import CostModel
from relserve.policies.priority import MissRatio, Priority, StarvationGuard, urgency
from relserve.policies.state import NOBODY, Limits, Plan, RelState, Room


@dataclass
class SchedulingPolicy:
    """Decides one step at a time; owns no queue and no clock.

    Attributes:
        room_share: admit a row only if this share of the outputs still to come, by their caps, fits too.
        one_relquery: a prefill holds rows of one relQuery only (section 4.3); else the next ones fill it up.
    """

    name: str
    priority: Priority
    arrangement: Arrangement
    guard: StarvationGuard
    room_share: float = 0.0
    one_relquery: bool = False

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
        self.guard.update(states, now_s)
        return sorted(states, key=urgency)

    def plan(self, order: list[RelState], room: Room, cost: CostModel, limits: Limits) -> Plan:
        """What the next step computes.

        Args:
            order: what `order` gave.
            room: slots and KV tokens that are free now.
        """
        decoding = [s for s in order if s.num_decoding]
        head = next((s for s in order if s.num_waiting or s.prefill_left), None)
        candidate = None if head is None else self.candidate(head, decoding, room, limits)
        num_waiting = sum(1 for s in order if not s.num_decoding)
        plan = self.arrangement.decide(Situation(decoding, candidate, num_waiting, cost))
        if plan.prefill and not self.one_relquery:
            plan = replace(plan, prefill=None, max_admit=None)
        if self.room_share and plan.prefill != NOBODY:
            plan = replace(plan, max_admit=self._rows_with_room(order, plan, room, limits))
        return plan

    def _rows_with_room(self, order: list[RelState], plan: Plan, room: Room, limits: Limits) -> int:
        """How many waiting rows fit together with the outputs still to come, theirs and the running rows'."""
        free = room.kv_tokens - self.room_share * sum(s.sum_decode_left for s in order)
        rows, budget = 0, float(limits.max_num_batched_tokens)
        running = any(s.num_running for s in order)
        for state in order:
            if not state.num_waiting or not plan.prefills(state.rel_id):
                continue
            uncached = max(state.waiting_tokens / state.num_waiting * state.miss_ratio, 1.0)
            need = uncached + limits.block_size / 2 + self.room_share * state.output_cap
            fit = min(state.num_waiting, max(0, int(free / need)))
            rows += fit
            free -= fit * need
            budget -= fit * uncached
            if fit < state.num_waiting or budget <= 0:
                break
        return max(rows, 0 if running else 1)

    def candidate(
        self, head: RelState, running: list[RelState], room: Room, limits: Limits
    ) -> Candidate | None:
        """The prefill batch of `head` that fits now: unfinished prompts first, then waiting rows."""
        budget = float(limits.max_num_batched_tokens - head.prefill_left)
        tokens, rows = float(min(head.prefill_left, limits.max_num_batched_tokens)), 0
        if budget > 0 and head.num_waiting:
            rows, added = self._fitting(head, running, room, budget, limits)
            tokens += added
        return Candidate(head, tokens, rows) if tokens else None

    def _fitting(
        self, head: RelState, running: list[RelState], room: Room, budget: float, limits: Limits
    ) -> tuple[int, float]:
        row_tokens = head.waiting_tokens / head.num_waiting
        uncached = max(row_tokens * head.miss_ratio, 1.0)
        need, free = max(uncached, 1.0) + limits.block_size, float(room.kv_tokens)
        by_memory = int(free / need)
        by_budget = max(1, int(budget / uncached))
        rows = min(head.num_waiting, room.slots, by_memory, by_budget)
        if rows <= 0 and not running and room.slots > 0 and not head.num_running:
            rows = 1  # an empty engine must take a row, however large
        return (rows, min(budget, rows * uncached)) if rows > 0 else (0, 0.0)
