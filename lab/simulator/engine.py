"""The simulated engine: step by step, with paged KV memory, prefix cache and preemption by recompute."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import islice
from math import ceil
from typing import NamedTuple

from lab.simulator.blocks import SimulatedBlockPool
from lab.simulator.sim_relquery import SimRel, SimRow
from lab.simulator.workload import RelSpec
from relserve.policies.model.lengths import RelLengths
from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.order import RelQueryOrder
from relserve.policies.scheduling.prefixes import num_known
from relserve.policies.scheduling.state import EngineLimits, FreeCapacity, RelState, StepDecision

SAMPLE = 10  # rows sampled for the prefix-cache miss ratio (Eq. 11)


@dataclass(frozen=True, slots=True)
class RelQueryEngineSpec:
    """An engine: what its steps cost, what fits, and how it prefills.

    Attributes:
        arrival_s_a_row: time that the engine spends to take in a row, between steps.
        guess: what its scheduler takes steps to cost before it has measured any; None: it knows `cost`.
        chunked: a prompt may be computed over several steps (V1); else it must fit one step's budget.
    """

    cost: CostModel
    limits: EngineLimits
    chunked: bool = True
    prefix_caching: bool = True
    arrival_s_a_row: float = 0.0
    guess: CostModel | None = None


@dataclass(slots=True)
class StepWork:
    """What one step computes: prompts' tokens, rows that decode, rows admitted and preempted.

    Attributes:
        order: in which relQueries were served.
    """

    order: RelQueryOrder[RelState]
    prefill_tokens: int = 0
    num_decodes: int = 0
    admitted: int = 0
    preempted: int = 0
    prefilled: list[SimRow] = field(default_factory=list)
    decoded: list[SimRel] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether nothing could be scheduled."""
        return not self.num_decodes and not self.prefill_tokens


class DecodeStretch(NamedTuple):
    """Decode steps that were computed at once: when the last one ended, and the relQueries that are done."""

    end_s: float
    num_steps: int
    done: list[SimRel]


class SimulatedEngine:
    """Queues, memory and the mechanics of a step; decides nothing and has no clock."""

    def __init__(self, spec: RelQueryEngineSpec) -> None:
        self.spec, self.limits = spec, spec.limits
        self.block_size = spec.limits.block_size
        self.pool = SimulatedBlockPool(spec.limits.kv_tokens // self.block_size)
        self.rels: dict[str, SimRel] = {}
        self._changed: dict[SimRel, None] = {}
        self._gone: list[str] = []
        self.num_running = self.num_waiting = self.num_left = 0  # rows; those left are not done
        self.num_cached_tokens = self.num_prompt_tokens = self.num_preemptions = 0

    def add(self, spec: RelSpec, lengths: RelLengths) -> None:
        """A relQuery arrives with all its rows, whose outputs are taken to have these lengths."""
        rel = SimRel(spec, self.block_size, self.spec.prefix_caching, lengths)
        self.rels[spec.rel_id] = rel
        self._changed[rel] = None
        self.num_waiting += len(spec.rows)
        self.num_left += len(spec.rows)

    def news(self) -> tuple[list[RelState], list[str]]:
        """Since the last call: relQueries of which rows came, ran or ended; ids of those that are done."""
        for rel in self.rels.values():
            if rel.lengths.is_outdated:
                rel.renew_state()
                self._changed[rel] = None
        changed, gone = [rel.state for rel in self._changed], self._gone
        self._changed, self._gone = {}, []
        return changed, gone

    def free_capacity(self) -> FreeCapacity:
        """Slots and KV tokens that are free."""
        return FreeCapacity(self.limits.max_num_seqs - self.num_running, self.pool.num_free * self.block_size)

    def miss_ratio(self, state: RelState, of_each_other: bool = False) -> float:
        """Eq. 11 over the first SAMPLE waiting rows, as the paper's code samples them.

        Args:
            of_each_other: what one row has in common with those before it counts as cached, too.
        """
        tokens = cached = 0
        seen: set[Hashable] = set()
        for row in islice(self.rels[state.rel_id].waiting, SAMPLE):
            tokens += row.num_tokens
            num_cached = self.pool.num_cached(row.hashes)
            if of_each_other:
                num_cached = num_known(row.hashes, num_cached, seen)
            cached += num_cached
        return 1.0 - cached * self.block_size / max(tokens, 1)

    def step(self, decision: StepDecision, now_s: float) -> StepWork:
        """Begin a step: decodes, then prompts in progress, then admissions, most urgent first.

        A token budget limits prompts only: the rows of a relQuery decode together here.

        Raises:
            ValueError: the decision names requests; rows have no names here.
        """
        if decision.held_requests:
            raise ValueError("a simulated engine holds back relQueries only, not single requests")
        work = StepWork(decision.order)
        self._decode(decision, work)
        budget = self.limits.max_num_batched_tokens
        if decision.token_budget is not None:
            budget = min(decision.token_budget, budget)
        budget -= work.num_decodes
        for rel in self._sorted(decision.order, [rel for rel in self.rels.values() if rel.partial]):
            if decision.prefills(rel.spec.rel_id):
                budget -= self._continue(rel, budget, work)
        for state in () if self._is_closed else decision.order:
            if budget <= 0:
                break
            rel = self.rels[state.rel_id]
            if not rel.waiting or not decision.prefills(state.rel_id):
                continue
            most = None if decision.max_admit is None else decision.max_admit - work.admitted
            used, fits = self._admit(rel, budget, most, now_s, work)
            budget -= used
            if not fits:
                break
        return work

    def _sorted(self, order: RelQueryOrder[RelState], rels: list[SimRel]) -> list[SimRel]:
        """Some relQueries, most urgent first."""
        if len(rels) < 2:
            return rels
        return [self.rels[state.rel_id] for state in order.sort([rel.state for rel in rels])]

    def _decode(self, decision: StepDecision, work: StepWork) -> None:
        """Give all rows that may decode the blocks of this step; preempt where they do not suffice."""
        decoding = [rel for rel in self.rels.values() if rel.decoding]
        if decision.decode is not None:
            decoding = [rel for rel in decoding if decision.decodes(rel.spec.rel_id)]
        needed = sum([rel.blocks_of_next_decode for rel in decoding])
        if needed <= self.pool.num_free:
            self.pool.take_private(needed)
            work.decoded = decoding
        else:
            rels = [self.rels[state.rel_id] for state in decision.order]
            for rel in self._sorted(decision.order, decoding):
                if rel.decoding and self._grow(rel, rels, work):
                    work.decoded.append(rel)
        work.num_decodes = sum([len(rel.decoding) for rel in work.decoded])

    def _grow(self, rel: SimRel, rels: list[SimRel], work: StepWork) -> bool:
        """Give a relQuery's decoding rows the blocks of this step, preempting the least urgent.

        Of one relQuery a half-done prompt goes before a row that decodes.
        """
        while (needed := rel.blocks_of_next_decode) > self.pool.num_free:
            victim = next(
                (r for r in reversed(rels) if r.partial or (r.decoding and r not in work.decoded)), None
            )
            if victim is None:
                return False
            self._preempt(victim, work)
            if not rel.decoding:
                return False
        self.pool.take_private(needed)
        return True

    def _preempt(self, rel: SimRel, work: StepWork) -> None:
        row = rel.preempt_last()
        self._free(row, row.num_tokens - 1 if row.generated else 0)
        self.num_waiting += 1
        self.num_preemptions += 1
        work.preempted += 1
        rel.renew_state()
        self._changed[rel] = None

    def _free(self, row: SimRow, num_tokens: int) -> None:
        blocks = max(ceil(num_tokens / self.block_size), row.num_blocks)
        self.pool.give_back(row.hashes, blocks - len(row.hashes))
        row.num_blocks = 0
        self.num_running -= 1

    @staticmethod
    def _continue(rel: SimRel, budget: int, work: StepWork) -> int:
        used = 0
        for row in rel.partial:
            tokens = min(row.prefill_left, budget - used)
            if tokens <= 0:
                break
            row.prefill_left -= tokens
            used += tokens
            work.prefilled.append(row)
        work.prefill_tokens += used
        return used

    def _admit(
        self, rel: SimRel, budget: int, most: int | None, now_s: float, work: StepWork
    ) -> tuple[int, bool]:
        """Admit waiting rows; gives the tokens used, and False when the next row did not fit."""
        slots = self.limits.max_num_seqs - self.num_running
        free, admitted, used = slots if most is None else min(most, slots), 0, 0
        while rel.waiting and used < budget:
            tokens = self._try_admit(rel.waiting[0], budget - used) if admitted < free else 0
            if not tokens:
                break
            work.prefilled.append(rel.admit_next())
            admitted += 1
            used += tokens
        if admitted and rel.state.first_scheduled_s is None:
            rel.state.first_scheduled_s = now_s
        self.num_waiting -= admitted
        work.admitted += admitted
        work.prefill_tokens += used
        return used, not rel.waiting or used >= budget

    def _try_admit(self, row: SimRow, budget: int) -> int:
        """Take memory for a row and compute what the budget allows; 0 tokens if it does not fit."""
        total, size, pool = row.num_tokens, self.block_size, self.pool
        cached = min(pool.num_cached(row.hashes), (total - 1) // size)
        uncached = total - cached * size
        if not self.spec.chunked and uncached > budget and budget < self.limits.max_num_batched_tokens:
            return 0
        blocks, free = ceil(total / size), pool.num_free
        if blocks > free and blocks - cached + pool.num_idle(row.hashes[:cached]) > free:
            return 0
        pool.take(row.hashes, blocks - len(row.hashes))
        self.num_running += 1
        self.num_prompt_tokens += total
        self.num_cached_tokens += total - uncached
        row.num_blocks = blocks
        tokens = min(uncached, budget)
        row.prefill_left = uncached - tokens
        return tokens

    def finish(self, work: StepWork, now_s: float) -> list[SimRel]:
        """End a step at `now_s`; gives the relQueries that are done."""
        ending = [rel for rel in work.decoded if rel.clock + 1 in rel.finish]
        touched: dict[SimRel, None] = dict.fromkeys(self._sorted(work.order, ending))
        for rel in work.decoded:
            rel.clock += 1
        for rel in list(touched):
            self._end_rows(rel)
        touched.update(dict.fromkeys(work.decoded))
        for row in work.prefilled:
            touched[row.rel] = None
            if not row.prefill_left:
                self._end_of_prompt(row, now_s)
        return self._renew(touched, now_s)

    def _end_rows(self, rel: SimRel) -> None:
        """The rows of a relQuery that have generated all their tokens at its clock end."""
        for row in rel.finish.pop(rel.clock):
            rel.end_decode(row)
            self._free(row, row.num_prompt + row.num_output - 1)
            self._end_row(row)

    def _end_of_prompt(self, row: SimRow, now_s: float) -> None:
        rel = row.rel
        del rel.partial[row]
        if not row.generated:
            rel.last_first_token_s = now_s
        row.generated += 1
        if row.generated < row.num_output:
            rel.begin_decode(row)
            return
        self._free(row, row.num_prompt)
        self._end_row(row)

    def _end_row(self, row: SimRow) -> None:
        rel = row.rel
        rel.lengths.ended(row.num_output, row.num_output < rel.spec.output_cap)
        rel.num_left -= 1
        self.num_left -= 1

    def _renew(self, rels: dict[SimRel, None], now_s: float) -> list[SimRel]:
        done = []
        for rel in rels:
            rel.renew_state()
            self._changed[rel] = None
            if not rel.num_left:
                rel.done_s = now_s
                done.append(rel)
                self._gone.append(rel.spec.rel_id)
                del self.rels[rel.spec.rel_id], self._changed[rel]
        return done

    def only_decodes(self, work: StepWork) -> bool:
        """Whether a step is a decode step of all rows that hold memory, and nobody else can get any."""
        return not work.preempted and work.num_decodes == self.num_running and self._is_closed

    @property
    def _is_closed(self) -> bool:
        """Whether nothing waits, or no slot is free for it."""
        return not self.num_waiting or self.num_running >= self.limits.max_num_seqs

    def decode_on(self, now_s: float, until_s: float) -> DecodeStretch:
        """Compute decode steps of all running rows while they end by `until_s` and nothing is to be decided.

        That is: nobody can be admitted, the memory suffices, and the rows that end in a step are of one
        relQuery, for those of several give their memory back in the order of urgency.
        """
        cost, pool = self.spec.cost, self.pool
        rels = {rel: None for rel in self.rels.values() if rel.decoding}
        touched, done, num_steps = dict(rels), [], 0
        while rels and self._is_closed:
            end_s = now_s + cost.step(0, self.num_running)
            needed = sum([rel.blocks_of_next_decode for rel in rels])
            ending = [rel for rel in rels if rel.clock + 1 in rel.finish]
            if end_s > until_s or needed > pool.num_free or len(ending) > 1:
                break
            pool.take_private(needed)
            now_s, num_steps = end_s, num_steps + 1
            for rel in rels:
                rel.clock += 1
            for rel in ending:
                self._end_rows(rel)
                if not rel.decoding:
                    del rels[rel]
                    done += self._renew({rel: None}, now_s)
        if num_steps:
            self._renew({rel: None for rel in touched if rel.num_left}, now_s)
        return DecodeStretch(now_s, num_steps, done)
