"""Ours: urgent requests first, the small before the large, and what has started is not preempted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from relserve.policies.caching.fill import BlockNeeds, allowed, begun, fitting
from relserve.policies.caching.requests import HIDDEN, Bools, Ints, RequestColumns
from relserve.policies.caching.state import CachePlan, CacheView, plan_of
from relserve.policies.caching.types import MemoryPressure, Once, hidden_pays, tokens_made
from relserve.policies.caching.value import awaited_slo_s, pending_s

OF_SLO = 0.9  # of the time between two tokens, that a step is planned to take at most


class Going(NamedTuple):
    """Rows at work that compute in this step, the most urgent first, and rows that lose what they hold."""

    run: Ints
    drop: Ints


@dataclass
class Steady:
    """Mixed steps; requests come in by urgency, and go on until they end.

    To come in, a request must leave a reserve free, into which those at work grow. Once that is used up,
    those without memory for their next token pause until another ends. One that is too late for its SLO must
    leave more, so that those that can still meet theirs find memory when they come. One request at a time
    comes in because it has waited longest, however unurgent, late or large it is, so that nothing starves.

    Attributes:
        reserve: share of the memory that stays free when requests come in. Without it three times as many
            are dropped (162 of 2,000 against 57), in the simulation below.
        late_reserve: the same for those that are too late. Simulated (OPT-13B, absorbed, the lengths drawn
            for ShareGPT, 2.6 times the rate of first come, first served at 90 %): 60 % meet their SLOs with
            0.02, 82 % with 0.2 and with 0.3.
        patience: how many times its SLO for the first token a request waits before it can have the turn of
            the one that has waited longest.
        patience_s: the same in seconds for those without an SLO.
        hybrid: whether requests may be hidden.
    """

    name: str
    reserve: float = 0.02
    late_reserve: float = 0.2
    patience: float = 10.0
    patience_s: float = 60.0
    hybrid: bool = True
    _turn: str = field(default="", init=False, repr=False)

    def plan(self, view: CacheView) -> CachePlan:
        """See `CachingPolicy.plan`."""
        requests, needs = view.requests, BlockNeeds.of(view)
        late = too_late(view, needs)
        order = by_urgency(requests, late)
        started, waiting = order[~needs.waits[order]], order[needs.waits[order]]
        run, drop = going_on(view, needs, started)
        hidden = requests.holds == HIDDEN
        if len(run) == len(started):
            waiting, late = self._with_turn(view, waiting, late)
            coming, hidden_too = self._coming_in(view, needs, run, waiting, late)
            run, hidden[coming] = np.concatenate([run, coming]), hidden_too
        run = decodes_first(needs, run)
        most = most_tokens(view, needs, run)
        run = run[: begun(needs.tokens[run], most)]
        plan = plan_of(requests, run, hidden[run], drop, "mixed", "urgency")
        return plan if most == view.limits.max_num_batched_tokens else replace(plan, most_tokens=most)

    def _with_turn(self, view: CacheView, waiting: Ints, late: Bools) -> tuple[Ints, Bools]:
        """Those that wait, first the one whose turn it is for having waited longest; and who is too late."""
        requests = view.requests
        if self._turn not in requests:
            pending, slo_s = pending_s(view)[waiting], requests.ttft_slo_s[waiting]
            limit_s = np.where(np.isinf(slo_s), self.patience_s, self.patience * slo_s)
            longest = np.lexsort((requests.order[waiting], limit_s - pending))[:1]
            if not (pending > limit_s)[longest].any():
                return waiting, late[waiting]
            self._turn = requests.ids[waiting[longest[0]]]
        first = waiting == requests.row(self._turn)
        return np.concatenate([waiting[first], waiting[~first]]), np.concatenate(
            [np.zeros(int(first.sum()), np.bool_), late[waiting[~first]]]
        )

    def _coming_in(
        self, view: CacheView, needs: BlockNeeds, started: Ints, waiting: Ints, late: Bools
    ) -> tuple[Ints, Bools]:
        """The first that fit beside the reserves, and which of them are hidden; an empty engine takes one."""
        num_blocks, used = view.memory.num_blocks, int(needs.held[started].sum())
        free = int(num_blocks * (1 - self.reserve)) - used
        hidden = self._hidden(view, needs, len(started), waiting, free)
        ends = np.cumsum(np.where(hidden, needs.hidden[waiting], needs.kv[waiting]))
        fits = ends <= np.where(late, int(num_blocks * (1 - self.late_reserve)) - used, free)
        if not len(started):
            fits[:1] = ends[:1] <= num_blocks
        come = int(np.logical_and.accumulate(fits).sum())
        come = min(come, max(view.limits.max_num_seqs - len(started), 0))
        return waiting[:come], hidden[:come]

    def _hidden(
        self, view: CacheView, needs: BlockNeeds, num_started: int, waiting: Ints, free: int
    ) -> Bools:
        requests = view.requests
        if not self.hybrid:
            return allowed(requests, waiting, np.zeros(len(waiting), np.bool_))
        at_once = fitting(needs.kv[waiting], free)
        pressure = MemoryPressure(num_started + at_once, len(waiting) - at_once)
        freed = needs.kv[waiting] - needs.hidden[waiting]
        tokens, most = requests.num_tokens[waiting], view.limits.max_num_batched_tokens
        begins_with = requests.shared_hidden[waiting] * view.memory.hidden_tokens_per_block
        anew = np.maximum(requests.shared_kv[waiting] * view.memory.kv_tokens_per_block - begins_with, 0)
        once = Once(tokens_made(tokens, begins_with, most), anew, requests.expected_left[waiting])
        pays = hidden_pays(tokens, pressure, view.memory, view.costs, freed, once)
        return allowed(requests, waiting, pays | (needs.kv[waiting] > view.memory.num_blocks))


def decodes_first(needs: BlockNeeds, rows: Ints) -> Ints:
    """Rows in the order in which they get a step's tokens: decodes, prompts that are under way, new ones.

    A prompt before them can take all of a step's tokens; a decode that gets none waits two steps for its next
    one, which is all that a tight SLO allows.
    """
    place = np.where(needs.waits[rows], 2, needs.tokens[rows] > 1)
    found: Ints = rows[np.argsort(place, kind="stable")]
    return found


def most_tokens(view: CacheView, needs: BlockNeeds, run: Ints) -> int:
    """Tokens of a step that still ends within the SLO between two tokens of each one that decodes in it.

    By what steps cost, as far as that is known, with keys and values of hidden prompts made again. Prompts
    get a quarter of the engine's tokens in any case, and all of them where decodes alone take longer than the
    SLO.
    """
    requests, costs, most = view.requests, view.costs, view.limits.max_num_batched_tokens
    decodes = run[needs.tokens[run] <= 1]
    if not len(decodes) or len(decodes) == len(run):
        return most
    is_hidden = requests.holds[decodes] == HIDDEN
    read_s = np.where(is_hidden, costs.hidden_token_s, costs.kv_token_s) * requests.num_tokens[decodes]
    prompts = run[needs.tokens[run] > 1]
    made = requests.num_computed[prompts[requests.holds[prompts] == HIDDEN]]
    made_s = costs.made_token_s * float(made.sum()) + costs.made_base_s * bool((made > 0).any())
    remaining_s = OF_SLO * float(requests.tpot_slo_s[decodes].min())
    remaining_s -= costs.steps.step(1, len(decodes)) + costs.hidden_base_s * bool(is_hidden.any())
    remaining_s -= float(read_s.sum())
    if remaining_s <= 0 or np.isinf(remaining_s):
        return most
    fit = int(min(max(remaining_s - made_s, 0.0) / costs.steps.prefill_per_token_s, most))
    return min(len(decodes) + max(fit, most // 4), most)


def too_late(view: CacheView, needs: BlockNeeds) -> Bools:
    """Where the next token cannot come within its SLO, were its prompt computed at once and alone."""
    prompt_s = view.costs.steps.prefill_per_token_s * needs.tokens
    late: Bools = pending_s(view) + prompt_s > awaited_slo_s(view.requests)
    return late


def by_urgency(requests: RequestColumns, late: Bools) -> Ints:
    """All rows, the most urgent first.

    By the rank that others give; between equals, those that are too late come last; then the smallest first,
    by its tokens so far, then by those that it is expected to have yet. (Mostly one mean stands for what is
    left: it says little, and of those that have said more than the mean the wrong thing.)
    """
    size = (requests.expected_left, requests.num_tokens)
    rows: Ints = np.lexsort((requests.order, *size, late, requests.rank))
    return rows


def going_on(view: CacheView, needs: BlockNeeds, started: Ints) -> Going:
    """Who goes on of those at work, most urgent first; who needs blocks that are not there pauses.

    The least urgent one is dropped, and then the next, only where nobody could go on, or where a pause has
    used half of the SLO between two tokens.
    """
    requests, memory = view.requests, view.memory
    per_block = np.where(requests.holds == HIDDEN, memory.hidden_tokens_per_block, memory.kv_tokens_per_block)
    have = np.where(needs.tokens > 1, needs.held, -(-requests.num_computed // per_block) - needs.shared)
    pressing = pending_s(view) > requests.tpot_slo_s / 2
    for number in range(len(started), 0, -1):
        rows = started[:number]
        more, free = needs.held[rows] - have[rows], memory.num_blocks - int(have[rows].sum())
        grows = np.flatnonzero(more)
        goes = np.ones(number, np.bool_)
        goes[grows[fitting(more[grows], free) :]] = False
        if free >= 0 and goes.any() and not pressing[rows[~goes]].any():
            return Going(rows[goes], started[number:])
    return Going(started[:0], started)
