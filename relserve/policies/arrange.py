"""Arrangement: what a step computes, given who is urgent. The paper's three cases, and our marginal rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from relserve.policies.cost import CostModel
from relserve.policies.priority import urgency
from relserve.policies.state import NOBODY, Plan, RelState


class Candidate(NamedTuple):
    """The next prefill batch: whose it is, its uncached tokens, and how many rows it admits."""

    state: RelState
    tokens: float
    num_rows: int


@dataclass(frozen=True, slots=True)
class Situation:
    """What there is to choose from in one step.

    Attributes:
        decoding: relQueries with rows that can decode, most urgent first.
        candidate: the prefill batch of the most urgent relQuery that has one; None if nothing fits.
        num_waiting: relQueries none of whose rows decode yet, |R-|.
        cost: the cost model.
    """

    decoding: list[RelState]
    candidate: Candidate | None
    num_waiting: int
    cost: CostModel


class Arrangement(Protocol):
    """Chooses what a step computes."""

    def decide(self, situation: Situation) -> Plan:
        """The plan of one step; pure."""


class Mixed:
    """Stock V1: every step computes all decodes and as much prefill as the budget holds."""

    def decide(self, situation: Situation) -> Plan:
        """See `Arrangement.decide`."""
        return Plan(None, None, None, "mixed")


Transition = Callable[[Situation], bool]


def always_prefill(situation: Situation) -> bool:
    """RelServe (PP)."""
    return True


def always_decode(situation: Situation) -> bool:
    """RelServe (DP)."""
    return False


def by_total_latency(situation: Situation) -> bool:
    """ABA's transitional case: prefill first if that lowers the total latency (Eq. 15 to 17).

    Erratum corrected: the total change is Delta+ minus Delta-; as printed (plus) it can never be negative.
    """
    return latency_change(situation) < 0


def latency_change(situation: Situation) -> float:
    """Change of total latency, in seconds, when the candidate prefill runs before the decodes (Eq. 17)."""
    candidate, cost = situation.candidate, situation.cost
    assert candidate is not None
    cap = candidate.state.output_cap
    paused_s = cost.prefill(candidate.tokens) * len(situation.decoding)
    slower_s = sum(
        cost.decode_per_request_s * candidate.num_rows * min(r.max_decode_left, cap)
        for r in situation.decoding
    )
    shared = min(cap, max(r.max_decode_left for r in situation.decoding))
    return paused_s + slower_s - situation.num_waiting * cost.decode_base_s * shared


class Exclusive:
    """ABA: a step is a prefill of one relQuery or a decode of all (section 4.3).

    A more urgent relQuery preempts; inside one relQuery prefill goes first; at the transition from one to
    the next, `transition` says whether the next one's prefill goes first.
    """

    def __init__(self, transition: Transition) -> None:
        self._transition = transition

    def decide(self, situation: Situation) -> Plan:
        """See `Arrangement.decide`."""
        candidate = situation.candidate
        if candidate is None:
            return Plan(None, NOBODY, 0, "no candidate")
        prefill = Plan(NOBODY, frozenset((candidate.state.rel_id,)), candidate.num_rows, "nothing decodes")
        if not situation.decoding:
            return prefill
        running, waiting = urgency(situation.decoding[0]), urgency(candidate.state)
        if situation.decoding[0] is candidate.state:
            return _because(prefill, "internal")
        if running[0] > waiting[0]:
            return _because(prefill, "preemption")
        if running[0] == waiting[0]:
            return _because(prefill, "internal")
        if self._transition(situation):
            return _because(prefill, "transition: prefill")
        return Plan(None, NOBODY, 0, "transition: decode")


class Marginal:
    """Ours: a step takes work in order of urgency for as long as it lowers the total latency.

    The work items are each relQuery's decodes and the candidate prefill, most urgent first. An item of c
    seconds delays each relQuery whose work is already in the step by c. Left out, it needs a step of its
    own later, whose base s is then paid by its relQuery and by all that come after. The item joins when

        (relQueries before it) * c < s * (relQueries from it on)

    For decodes c and s are those of one step (Eq. 9). For the prefill they are those of Eq. 15 and 16: it
    also widens the decodes that follow, and shares their base. Where bases dominate (decodes on a GPU) all is
    mixed; where slopes dominate (long prefills, CPUs) the urgent go alone.
    """

    def decide(self, situation: Situation) -> Plan:
        """See `Arrangement.decide`."""
        total = len(situation.decoding) + situation.num_waiting
        head = situation.candidate.state if situation.candidate is not None else None
        before: set[str] = set()
        decode: set[str] = set()
        admits, behind = False, 0
        for state, is_prefill in _by_urgency(situation, head):
            seconds, saved_s = self._prefill(situation) if is_prefill else self._decode(situation, state)
            others = len(before - {state.rel_id})
            if others * seconds < saved_s * max(1, total - behind):
                before.add(state.rel_id)
                if is_prefill:
                    admits = True
                else:
                    decode.add(state.rel_id)
            behind += not is_prefill
        whole = len(decode) == len(situation.decoding)
        reason = ("mixed" if admits else "decode") + ("" if whole else ", the urgent alone")
        return Plan(None if whole else frozenset(decode), None if admits else NOBODY, None, reason)

    @staticmethod
    def _decode(situation: Situation, state: RelState) -> tuple[float, float]:
        cost = situation.cost
        return cost.decode_per_request_s * state.num_decoding, cost.decode_base_s

    @staticmethod
    def _prefill(situation: Situation) -> tuple[float, float]:
        cost, candidate = situation.cost, situation.candidate
        assert candidate is not None
        longest = max((r.max_decode_left for r in situation.decoding), default=0)
        shared = min(candidate.state.output_cap, longest)
        wider_s = cost.decode_per_request_s * candidate.num_rows * shared
        saved_s = cost.prefill_base_s + cost.decode_base_s * shared
        return cost.prefill_per_token_s * candidate.tokens + wider_s, saved_s


def _by_urgency(situation: Situation, head: RelState | None) -> list[tuple[RelState, bool]]:
    """Work items, most urgent first; a relQuery's own prefill comes before its decodes (core running)."""
    items = [(state, False) for state in situation.decoding]
    if head is not None:
        items.append((head, True))
    return sorted(items, key=lambda item: (urgency(item[0]), not item[1]))


def _because(plan: Plan, reason: str) -> Plan:
    return Plan(plan.decode, plan.prefill, plan.max_admit, reason)
