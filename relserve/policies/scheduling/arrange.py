"""Arrangement: what a step computes, given who is urgent. The paper's three cases, and our marginal rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.order import RelQueryOrder
from relserve.policies.scheduling.state import NOBODY, RelState, StepDecision


class PrefillCandidate(NamedTuple):
    """A prefill batch of one relQuery: its uncached tokens, and how many rows it admits.

    `held_up` tells that slots or memory have no room for all of its waiting rows, now or in later steps.
    """

    state: RelState
    tokens: float
    num_rows: int
    held_up: bool = False


class StepChoices(NamedTuple):
    """What there is to choose from in one step.

    Attributes:
        order: all relQueries, most urgent first.
        decoding: those with rows that can decode, R+, in that order.
        candidates: prefill batches in that order, each fitting if those before it are taken too.
        num_with_waiting: relQueries with waiting rows, R-.
        num_at_work: relQueries with waiting or running rows.
        cost: the cost model.
        later: what a second saved now is worth to those that will come, in seconds of those that are there.
        limits_admission: whether no more rows may be admitted than the decision counts on.
    """

    order: RelQueryOrder[RelState]
    decoding: Sequence[RelState]
    candidates: Sequence[PrefillCandidate]
    num_with_waiting: int
    num_at_work: int
    cost: CostModel
    later: float = 1.0
    limits_admission: bool = True

    def decide(
        self, decode: frozenset[str] | None, prefill: frozenset[str] | None, num_rows: int, reason: str
    ) -> StepDecision:
        """The decision for these relQueries, which counts on admitting `num_rows` rows."""
        max_admit = num_rows if self.limits_admission else None
        return StepDecision(decode, prefill, max_admit, reason, order=self.order)

    def prefill(
        self, decode: frozenset[str] | None, taken: Sequence[PrefillCandidate], reason: str
    ) -> StepDecision:
        """The decision to prefill some candidates."""
        rows = sum([candidate.num_rows for candidate in taken])
        return self.decide(decode, frozenset([c.state.rel_id for c in taken]), rows, reason)


class Arrangement(Protocol):
    """Chooses what a step computes."""

    def decide(self, step: StepChoices) -> StepDecision:
        """The plan of one step; pure."""


class Mixed:
    """Stock V1: every step computes all decodes and as much prefill as the budget holds."""

    def decide(self, step: StepChoices) -> StepDecision:
        """See `Arrangement.decide`."""
        return step.decide(None, None, sum(c.num_rows for c in step.candidates), "mixed")


Transition = Callable[[StepChoices], bool]


def always_prefill(step: StepChoices) -> bool:
    """RelServe (PP)."""
    return True


def always_decode(step: StepChoices) -> bool:
    """RelServe (DP)."""
    return False


def by_total_latency(step: StepChoices) -> bool:
    """ABA's transitional case: prefill first if that lowers the total latency (Eq. 15 to 17).

    Erratum corrected: the total change is Delta+ minus Delta-; as printed (plus) it can never be negative.
    """
    return latency_change(step) < 0


def latency_change(step: StepChoices) -> float:
    """Change of total latency, in seconds, when the first candidate runs before the decodes (Eq. 17).

    R- are all with waiting rows, also those of which others decode. For OL(R) of a running relQuery stands
    what its rows have left of it.
    """
    candidate, cost, decoding = step.candidates[0], step.cost, step.decoding
    cap = candidate.state.output_cap
    paused_s = cost.prefill(candidate.tokens) * len(decoding)
    rows_s = cost.decode_per_request_s * candidate.num_rows
    slower_s = sum([rows_s * min(r.max_decode_left, cap) for r in decoding])
    shared = min(cap, max(r.max_decode_left for r in decoding))
    return paused_s + slower_s - step.num_with_waiting * cost.decode_base_s * shared


class Exclusive:
    """ABA: a step is a prefill or a decode of all (section 4.3).

    A more urgent relQuery preempts; inside one relQuery prefill goes first; at the transition from one to
    the next, `transition` says whether the next one's prefill goes first. `one_relquery` keeps a prefill to
    the rows of one relQuery, as the paper does; else the next ones fill it up.
    """

    def __init__(self, transition: Transition, one_relquery: bool = True) -> None:
        self._transition, self._one_relquery = transition, one_relquery

    def decide(self, step: StepChoices) -> StepDecision:
        """See `Arrangement.decide`."""
        if not step.candidates:
            return step.decide(None, NOBODY, 0, "no candidate")
        reason = self._reason(step)
        if reason == "transition: decode":
            return step.decide(None, NOBODY, 0, reason)
        if self._one_relquery:
            return step.prefill(NOBODY, step.candidates[:1], reason)
        return step.decide(NOBODY, None, sum(c.num_rows for c in step.candidates), reason)

    def _reason(self, step: StepChoices) -> str:
        if not step.decoding:
            return "nothing decodes"
        first, head = step.decoding[0], step.candidates[0].state
        of_first, of_head = step.order.urgency(first), step.order.urgency(head)
        if first is head or of_first[0] == of_head[0]:
            return "internal"
        if of_first > of_head:
            return "preemption"
        return "transition: prefill" if self._transition(step) else "transition: decode"


TO_COME = 2  # see `Marginal`


class DecodesAhead(NamedTuple):
    """The decode steps ahead of a candidate: how many until the first relQuery ends, and of how many rows."""

    steps: float
    num_rows: int


class JoinEffect(NamedTuple):
    """What a candidate changes by joining a step, in seconds.

    Attributes:
        delay_s: by which each relQuery ahead of it is delayed.
        saved_s: bases that need not be paid.
        sooner_s: by which it ends before those ahead of it.
    """

    delay_s: float
    saved_s: float
    sooner_s: float


class Marginal:
    """Ours: all decodes, mixed with prefills in order of urgency for as long as they lower the total latency.

    A candidate that joins makes the step longer, and the decode steps after it wider, for every relQuery
    ahead of it that is at work. It saves the base of a step of its own, and the bases of the decode steps
    that it then shares with the running rows (Eq. 16), as far as no row of its relQuery stays behind to need
    them after all: time that it and all behind it are spared. It joins when

        (relQueries at work ahead of it) * (longer + wider)
            < later * (bases saved) * (relQueries from it on + TO_COME) + (how much sooner it ends)

    Held back, it waits until one of those ahead ends at least; if it joins and has shorter outputs, it ends
    first, and is spared the rest of that wait.
    `later` and TO_COME stand for those that are still to come, to whom it is spared too: `later` for how
    many more there will be of those there are now (see `ArrivingLoad`), TO_COME for when hardly any are. A
    workflow whose step is ahead counts among those behind too, for it has more steps to come. The first
    that does not pay ends the list: nothing less urgent may overtake. With many behind all is mixed, with
    few the urgent run alone.

    The decodes pause for a step where the relQueries that join, and are no less urgent, gain more in all by
    running first than the others lose by it (`_before_decodes`): ABA's preemption and internal case, priced.
    """

    def decide(self, step: StepChoices) -> StepDecision:
        """See `Arrangement.decide`."""
        taken: list[PrefillCandidate] = []
        by_rel = {candidate.state.rel_id: candidate for candidate in step.candidates}
        longest = max([r.max_decode_left for r in step.decoding], default=0.0)
        at_work, behind = 0, step.num_at_work
        steps_ahead, rows_ahead = 0.0, 0
        for state in step.order:
            candidate = by_rel.pop(state.rel_id, None)
            if candidate is not None:
                ahead = DecodesAhead(steps_ahead, rows_ahead)
                effect = self._effect(step, candidate, longest, ahead, is_first=not taken)
                worth_s = step.later * effect.saved_s * (behind + TO_COME) + effect.sooner_s
                if at_work and at_work * effect.delay_s >= worth_s:
                    break
                taken.append(candidate)
                longest = max(longest, state.longest_output)
            if not by_rel:
                break
            decoding = state.num_decoding
            if decoding or candidate is not None:
                at_work += 1
                steps = state.max_decode_left if decoding else state.longest_output
                steps_ahead = min(steps_ahead, steps) if rows_ahead else steps
                rows_ahead += decoding if candidate is None else decoding + candidate.num_rows
            if state.workflow_id is None and (state.num_waiting or state.num_running):
                behind -= 1
        if first := self._before_decodes(step, taken):
            return step.prefill(NOBODY, first, "prefill first")
        if taken:
            return step.prefill(None, taken, "mixed")
        return step.decide(None, NOBODY, 0, "decode first" if step.candidates else "no candidate")

    @staticmethod
    def _effect(
        step: StepChoices, candidate: PrefillCandidate, longest: float, ahead: DecodesAhead, is_first: bool
    ) -> JoinEffect:
        """What comes of it if a candidate joins a step."""
        cost, state = step.cost, candidate.state
        shared = min(state.longest_output, longest)
        in_prefill = state.num_running - state.num_decoding
        rows = candidate.num_rows + in_prefill
        share = rows / max(state.num_waiting + state.num_unseen + in_prefill, 1)
        delay_s = cost.prefill_per_token_s * candidate.tokens
        delay_s += cost.decode_per_request_s * rows * shared
        saved_s = cost.prefill_base_s + cost.decode_base_s * shared * share
        if is_first and step.decoding:  # what was a decode step becomes a mixed one
            change_s = cost.shared_base_s - cost.decode_base_s
            delay_s, saved_s = delay_s + change_s, saved_s - change_s
        sooner_s = share * max(ahead.steps - shared, 0.0) * cost.decode(ahead.num_rows)
        return JoinEffect(delay_s, saved_s, sooner_s)

    @staticmethod
    def _before_decodes(step: StepChoices, taken: list[PrefillCandidate]) -> list[PrefillCandidate]:
        """Those of `taken` that had better run before the decodes; none where mixing is better.

        They are spared the decodes and their base. All others pay the base that is then not shared, and one
        more step as wide as they make it. So does a relQuery for its own rows if slots or memory hold it up:
        it ends when its last row has got in, not sooner for a prefill's being quick.
        """
        cost, decoding = step.cost, step.decoding
        if not decoding or not taken:
            return []
        most_urgent = step.order.urgency(decoding[0])
        first = [c for c in taken if step.order.urgency(c.state) <= most_urgent]
        tokens = sum([c.tokens for c in first])
        sooner_s = cost.step(tokens, sum([r.num_decoding for r in decoding])) - cost.prefill(tokens)
        later_s = cost.prefill_base_s + cost.decode_base_s - cost.shared_base_s
        later_s += cost.decode_per_request_s * sum([c.num_rows for c in first])
        gaining = sum([not (c.held_up and c.state.num_decoding) for c in first])
        losing = step.num_at_work - gaining
        return first if gaining * sooner_s > losing * later_s else []
