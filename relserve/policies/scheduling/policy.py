"""A scheduling policy put together: priority, starvation guard, arrangement, and memory kept for outputs."""

from __future__ import annotations

from dataclasses import dataclass, field

from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.arrange import Arrangement, PrefillCandidate, StepChoices
from relserve.policies.scheduling.background import BackgroundRows
from relserve.policies.scheduling.book import RelBook
from relserve.policies.scheduling.due import DeadlineStanding, DueTimes, standing_of
from relserve.policies.scheduling.guard import Guard
from relserve.policies.scheduling.load import LOOK_BACK, ArrivingLoad
from relserve.policies.scheduling.order import RelQueryOrder
from relserve.policies.scheduling.ordinary import OrdinaryTraffic
from relserve.policies.scheduling.priority import Priority, ahead_s, alone_s, miss_ratios
from relserve.policies.scheduling.state import RelState, StepDecision, StepView


@dataclass
class SchedulingPolicy:
    """Decides one step at a time; owns no queue and no clock, and writes nothing into what it is shown.

    Attributes:
        reserve_share: admit a row only if this share of the outputs still to come fits too; None admits
            whatever fits now, as vLLM does.
        ordinary: keeps the latency of requests without a relQuery; None treats them like relQueries.
        background: puts rows last for which nobody waits; None treats them like others.
        due: puts relQueries with deadlines where they belong; None does not look at deadlines.
        learns: whether outputs are taken to be as long as those before were; else as their caps allow.
        book: what it remembers of each relQuery between steps.
    """

    name: str
    priority: Priority
    arrangement: Arrangement
    guard: Guard
    reserve_share: float | None = None
    learns: bool = False
    ordinary: OrdinaryTraffic | None = None
    due: DueTimes | None = None
    background: BackgroundRows | None = None
    book: RelBook = field(default_factory=RelBook, repr=False)
    load: ArrivingLoad = field(default_factory=ArrivingLoad, repr=False)
    _later: float = field(default=1.0, repr=False)
    _was_sure: bool = field(default=True, repr=False)

    def decide(self, view: StepView) -> StepDecision:
        """What the next step computes."""
        return self.plan(view, self.order(view))

    def decodes_all(self, now_s: float) -> bool:
        """Whether the next step decodes every row if there is no prompt to compute and memory for all."""
        return self.ordinary is None or not self.ordinary.bounds_steps(now_s)

    def order(self, view: StepView) -> RelQueryOrder[RelState]:
        """All relQueries by urgency; to be called once with every view, for it takes note of what changed."""
        book = self.book
        book.take(view)
        values = self.priority.values(view, book)
        if self.learns:
            self._count_load(view)
        if self.due is not None:
            values = self.due.place(values, view, book)
        values = self.guard.put_first(values, view, book)
        if self.background is not None:
            values = self.background.put_last(values, view, book)
        if self.ordinary is not None:
            values = self.ordinary.put_first(values, view, book)
        return RelQueryOrder(book.states, book.slot_of, values, book.copy(book.arrival_s))

    def plan(self, view: StepView, order: RelQueryOrder[RelState]) -> StepDecision:
        """What the next step computes, in an order that `order` gave for the same view."""
        if self.ordinary is not None:
            return self.ordinary.plan(view, order, self._arranged)
        return self._arranged(view, order)

    def standing(self, state: RelState, cost: CostModel, now_s: float) -> DeadlineStanding | None:
        """How a relQuery of the latest view stands to its deadline.

        None where it has none, or where the variant does not look at deadlines.
        """
        steps = self.due.steps if self.due is not None else getattr(self.priority, "steps", None)
        if steps is None or state.deadline_s is None or state.rel_id not in self.book.slot_of:
            return None
        return standing_of(steps.step(state, self.book, cost), now_s)

    def _arranged(self, view: StepView, order: RelQueryOrder[RelState]) -> StepDecision:
        totals = self.book.totals
        return self.arrangement.decide(StepChoices(
            order, order.sort([state for state in self.book.running if state.num_decoding]),
            self.candidates(view, order), totals.with_waiting, totals.at_work, view.cost,
            self._later,
            limits_admission=self.reserve_share is not None,
        ))  # fmt: skip

    def _count_load(self, view: StepView) -> None:
        """Renew what a second saved is worth to those that will come."""
        book, was_sure, self._was_sure = self.book, self._was_sure, view.is_cost_sure
        counted = book.newcomers
        if not (was_sure and view.is_cost_sure):  # what was counted before was no seconds yet
            self.load.clear()
            counted = list(book.active.values())
        if counted:
            alone, states = alone_s(book), book.states
            slots = sorted(
                [slot for slot in counted if not states[slot].is_ordinary], key=book.arrival_s.__getitem__
            )
            for slot in slots[-LOOK_BACK:]:
                self.load.add(states[slot].rel_id, book.arrival_s[slot], alone[slot])
        self._later = self.load.of(view.now_s, ahead_s(book))

    def candidates(self, view: StepView, order: RelQueryOrder[RelState]) -> list[PrefillCandidate]:
        """The prefill batches that fit one step together, most urgent first.

        A relQuery's batch is what its unfinished prompts still need, then waiting rows taken as equal to
        their mean. The first relQuery whose waiting rows do not all fit ends the list.
        """
        share, limits, totals = self.reserve_share or 0.0, view.limits, self.book.totals
        free, slots = view.free_capacity.kv_tokens - share * totals.decode_left, view.free_capacity.slots
        budget = float(limits.max_num_batched_tokens - totals.num_decoding)
        must_take_one = not totals.with_running  # an empty engine takes a row, however large
        ratios, slot_of = miss_ratios(self.book), self.book.slot_of
        found: list[PrefillCandidate] = []
        for state in order:
            if budget <= 0:
                break
            if not state.num_waiting and not state.prefill_left:
                continue
            tokens, rows, held_up = float(min(state.prefill_left, budget)), 0, False
            if state.num_waiting and budget > tokens:
                ratio = ratios[slot_of[state.rel_id]]
                uncached = max(state.waiting_tokens / state.num_waiting * ratio, 1.0)
                need = uncached + limits.block_size / 2 + share * state.row_output
                wanted = min(int((budget - tokens) / uncached) or 1, state.num_waiting)
                room = min(int(free / need), slots)
                rows = max(min(room, wanted), 1 if must_take_one and not found else 0)
                held_up = room < state.num_waiting
                tokens += min(rows * uncached, budget - tokens)
                free, slots = free - rows * need, slots - rows
            if tokens:
                found.append(PrefillCandidate(state, tokens, rows, held_up))
                budget -= tokens
            if rows < state.num_waiting:
                break
        return found
