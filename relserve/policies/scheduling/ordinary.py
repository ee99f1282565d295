"""Ordinary requests, which belong to no relQuery: what they get of a step, and what it leaves them.

Someone waits for the first token of each, so they keep the latency that an idle engine gives them while
relQueries run, as far as shares allow. With none about nothing changes; with no relQuery at work they are
served as vLLM serves them, in order of arrival.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import NamedTuple

from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.book import RelBook
from relserve.policies.scheduling.order import Numbers, RelQueryOrder
from relserve.policies.scheduling.priority import miss_ratios
from relserve.policies.scheduling.state import FreeCapacity, RelState, StepDecision, StepView
from relserve.policies.scheduling.traffic import RecentTraffic

LEAST_USE = 0.5  # of a step's time that is not its base: what short steps may cost relQueries at most
SHARE = 0.5  # of slots, memory and time that ordinary requests may take from relQueries
COMPANY = 0.25  # decodes join the step of an ordinary prompt where they make it longer by less than this
FIRST, LAST = -1.0, 1e12  # priority values; those of relQueries are predicted seconds
RUNS, WAITS = 1.0, 2.0  # what the book's column "ordinary" says of one

Arranged = Callable[[StepView, RelQueryOrder[RelState]], StepDecision]


class StepLimits(NamedTuple):
    """What a step may take of the engine.

    Attributes:
        seconds: the longest that it may last.
        spare: slots and KV tokens that it leaves free.
    """

    seconds: float = inf
    spare: FreeCapacity = FreeCapacity(0, 0)

    def narrowed(self, view: StepView, num_decoding: int) -> StepView:
        """The view with what a step of prompts alone may take for what there is."""
        if self.seconds == inf:
            return view
        free, limits = view.free_capacity, view.limits
        tokens = tokens_within(view.cost, self.seconds, 0) + num_decoding
        return replace(
            view,
            free_capacity=FreeCapacity(
                max(free.slots - self.spare.slots, 0), max(free.kv_tokens - self.spare.kv_tokens, 0)
            ),
            limits=replace(limits, max_num_batched_tokens=min(tokens, limits.max_num_batched_tokens)),
        )

    def bound(self, decision: StepDecision, num_decodes: int, cost: CostModel) -> StepDecision:
        """The decision, which decodes so many rows, with a budget."""
        if self.seconds == inf:
            return decision
        return replace(decision, token_budget=tokens_within(cost, self.seconds, num_decodes))


UNLIMITED = StepLimits()


class OrdinaryTraffic:
    """Keeps ordinary requests' first tokens as early as an idle engine gives them.

    One that waits goes first, its prompt in a step of its own but for decodes that hardly lengthen it. While
    some are about, a step lasts no longer than the step of a usual one's prompt: who comes waits for half of
    one on average. It leaves free the slots and the memory that those who are likely to come will take.

    The base is at most 1 - `LEAST_USE` of such a step; and ordinary requests go first only as long as they
    hold less than `SHARE` of slots and memory, and took no more time than relQueries did, give or take one
    step of the engine's full budget. Then relQueries go first.
    """

    def __init__(self) -> None:
        self._traffic = RecentTraffic()
        self._here: dict[str, RelState] = {}
        self._waiting: dict[str, RelState] = {}  # a prompt is to be computed; in order of arrival
        self._running: dict[str, RelState] = {}
        self._lead_s = -inf  # seconds that they took, less those that relQueries did
        self._latest_s, self._was_first = 0.0, False
        self._goes_first = False
        self._book = RelBook()
        self._values: Numbers = []  # without them

    def put_first(self, values: Numbers, view: StepView, book: RelBook) -> Numbers:
        """The priority values with ordinary requests where they belong; to be called once with every view.

        Args:
            book: has taken the view, and knows the miss ratios.
        """
        self._book, self._values = book, values
        self._take(view, book)
        self._settle(view)
        if not self._here:
            return values
        of_waiting = LAST if self._has_others and not self._goes_first else FIRST
        return self._with(FIRST, of_waiting)

    def plan(self, view: StepView, order: RelQueryOrder[RelState], arranged: Arranged) -> StepDecision:
        """What the next step computes.

        Args:
            arranged: what it does for relQueries, within the limits of a view.
        """
        if self._here and not self._has_others:
            return StepDecision(None, None, None, "ordinary alone", order=order)
        first = self._first(view, order) if self._goes_first else None
        self._latest_s, self._was_first = view.now_s, first is not None
        if first is not None:
            return first
        limits = self.limits(view)
        if limits is UNLIMITED:
            return arranged(view, order)
        totals = self._book.totals
        decision = arranged(limits.narrowed(view, totals.num_decoding), self._behind())
        decode, num_decodes = decision.decode, totals.num_decoding
        if decode is not None:
            decode = decode.union(self._running)
            num_decodes = sum([state.num_decoding for state in self._book.running if state.rel_id in decode])
        return limits.bound(replace(decision, decode=decode, order=order), num_decodes, view.cost)

    def is_about(self, now_s: float) -> bool:
        """Whether there are ordinary requests, or some are likely to come soon: steps are shorter then."""
        return bool(self._here) or self._traffic.is_expected(now_s)

    def bounds_steps(self, now_s: float) -> bool:
        """Whether steps are shorter for them: while relQueries are at work, too."""
        return self._has_others and self.is_about(now_s)

    def limits(self, view: StepView) -> StepLimits:
        """What the next step may take."""
        if not self.bounds_steps(view.now_s):
            return UNLIMITED
        cost, traffic, share = view.cost, self._traffic, int(SHARE * view.limits.max_num_seqs)
        missing = max(min(traffic.most_at_once(), share) - len(self._here), 0)
        kv_tokens = missing * (traffic.prompt_tokens + view.limits.block_size)
        if self._goes_first:  # those that could not be taken in yet
            waiting = self._waiting.values()
            missing += min(sum([state.num_waiting for state in waiting]), max(share - len(self._running), 0))
            kv_tokens += sum([state.waiting_tokens for state in waiting])
        kept = min(int(kv_tokens), int(SHARE * view.limits.kv_tokens))
        return StepLimits(self._step_s(cost), FreeCapacity(missing, kept))

    def _behind(self) -> RelQueryOrder[RelState]:
        """The order with ordinary requests last: their decodes join whatever relQueries do, and delay none.

        Were they ahead, an arrangement would hold prompts back for as long as any of them decodes.
        """
        book = self._book
        return RelQueryOrder(book.states, book.slot_of, self._with(LAST, LAST), book.copy(book.arrival_s))

    def _with(self, of_running: float, of_waiting: float) -> Numbers:
        """The priority values, with these for ordinary requests that run and wait."""
        kinds = self._book.column("ordinary", blank=0.0)
        return self._book.each(
            lambda value, kind: (
                value * (kind == 0) + of_running * (kind == RUNS) + of_waiting * (kind == WAITS)
            ),
            self._values, kinds,
        )  # fmt: skip

    def _step_s(self, cost: CostModel) -> float:
        """The longest that a step may last: what one of theirs would, if there were no others."""
        decodes_s = cost.decode_per_request_s * self._num_decodes
        least_s = max(cost.prefill_base_s, cost.shared_base_s) / (1.0 - LEAST_USE)
        return max(cost.prefill(self._traffic.uncached_tokens), least_s) + decodes_s

    @property
    def _num_decodes(self) -> int:
        return sum([state.num_decoding for state in self._running.values()])

    @property
    def _has_others(self) -> bool:
        """Whether a relQuery is at work."""
        return self._book.totals.at_work > len(self._waiting.keys() | self._running.keys())

    def _take(self, view: StepView, book: RelBook) -> None:
        """Note which ordinary requests came, which run, and which left."""
        for rel_id in view.gone:
            self._drop(rel_id, view.now_s)
        ratios, slot_of, column = miss_ratios(book), book.slot_of, book.column("ordinary", blank=0.0)
        for state in view.changed:
            if state.is_named:
                continue
            rel_id = state.rel_id
            if not state.is_ordinary:
                if rel_id in self._here:  # a list of prompts in one call, of which more have come
                    column[slot_of[rel_id]] = 0.0
                    self._drop(rel_id, view.now_s)
                continue
            slot = slot_of[rel_id]
            if rel_id not in self._here:
                uncached = state.waiting_tokens * ratios[slot]
                self._traffic.came(state.arrival_s, uncached, state.arrived_tokens)
                self._here[rel_id] = state
            column[slot] = self._sort(state)

    def _sort(self, state: RelState) -> float:
        """Put a request with those that wait, or with those that run."""
        if state.num_running:
            self._running[state.rel_id] = state
        else:
            self._running.pop(state.rel_id, None)
        if state.num_waiting or state.prefill_left:
            self._waiting[state.rel_id] = state
            return WAITS
        self._waiting.pop(state.rel_id, None)
        return RUNS

    def _drop(self, rel_id: str, now_s: float) -> None:
        state = self._here.pop(rel_id, None)
        if state is not None:
            self._waiting.pop(rel_id, None)
            self._running.pop(rel_id, None)
            self._traffic.ended(now_s - state.arrival_s)

    def _settle(self, view: StepView) -> None:
        """Account for the latest step, and decide whether they go first in the next one."""
        passed_s, self._latest_s = max(view.now_s - self._latest_s, 0.0), view.now_s
        limits, ahead_s = view.limits, view.cost.prefill(view.limits.max_num_batched_tokens)
        if not self._has_others:
            self._lead_s, self._goes_first = -ahead_s, False
            return
        ordinary_s = view.cost.decode_per_request_s * self._num_decodes
        if self._was_first or ordinary_s > passed_s:
            ordinary_s = passed_s
        lead_s = self._lead_s + 2.0 * ordinary_s - passed_s
        self._lead_s = min(max(lead_s, -ahead_s), ahead_s)
        kv_tokens = sum([state.arrived_tokens for state in self._running.values()])
        self._goes_first = (
            bool(self._waiting) and self._lead_s <= 0.0
            and len(self._running) < SHARE * limits.max_num_seqs and kv_tokens < SHARE * limits.kv_tokens
        )  # fmt: skip

    def _first(self, view: StepView, order: RelQueryOrder[RelState]) -> StepDecision | None:
        """A step for the prompts of those that wait, as an idle engine would have it; None if none fits."""
        cost, totals, ratios = view.cost, self._book.totals, miss_ratios(self._book)
        most = view.limits.max_num_batched_tokens
        slots, kv_tokens = view.free_capacity
        taken: list[str] = []
        tokens = rows = 0.0
        for state in self._waiting.values():
            uncached = state.prefill_left + state.waiting_tokens * ratios[self._book.slot_of[state.rel_id]]
            if taken and tokens + uncached > most:
                break
            if rows + state.num_waiting > slots or state.waiting_tokens > kv_tokens:
                continue
            kv_tokens -= state.waiting_tokens
            rows += state.num_waiting
            taken.append(state.rel_id)
            tokens += uncached
        if not taken:
            return None
        joined_s = cost.step(tokens, totals.num_decoding)
        may_join = joined_s <= (1.0 + COMPANY) * cost.prefill(tokens)
        decode = None if may_join else frozenset(self._running)
        return StepDecision(decode, frozenset(taken), int(rows), "ordinary first", order=order)


def tokens_within(cost: CostModel, seconds: float, num_decodes: int) -> int:
    """The most tokens of a step that lasts so long, decodes before prompts; at least 1."""
    if num_decodes and cost.decode(num_decodes) > seconds:
        return max(int((seconds - cost.decode_base_s) / cost.decode_per_request_s), 1)
    remaining_s = seconds - cost.step(0, num_decodes)
    remaining_s -= cost.shared_base_s - cost.decode_base_s if num_decodes else cost.prefill_base_s
    return num_decodes + max(int(remaining_s / cost.prefill_per_token_s), 0 if num_decodes else 1)
