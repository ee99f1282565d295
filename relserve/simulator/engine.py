"""The simulated engine: step by step, with paged KV memory, prefix cache and preemption by recompute."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

from relserve.policies.cost import CostModel
from relserve.policies.scheduling.state import FreeCapacity, Limits, RelState, StepDecision, StepView
from relserve.simulator.blocks import BlockPool
from relserve.simulator.sim_relquery import SimRel, SimRow
from relserve.simulator.workload import RelSpec

SAMPLE = 10  # rows sampled for the prefix-cache miss ratio (Eq. 11)


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """An engine: what its steps cost, what fits, and how it prefills.

    Attributes:
        arrival_s_a_row: time that the engine spends to take in a row, between steps.
        chunked: a prompt may be computed over several steps (V1); else it must fit one step's budget.
    """

    cost: CostModel
    limits: Limits
    chunked: bool = True
    prefix_caching: bool = True
    arrival_s_a_row: float = 0.0


@dataclass
class StepWork:
    """What one step did."""

    prefill_tokens: int = 0
    num_decodes: int = 0
    admitted: int = 0
    preempted: int = 0
    prefilled: list[SimRow] = field(default_factory=list)
    decoded: list[SimRel] = field(default_factory=list)


class SimEngine:
    """Queues, memory and the mechanics of a step; decides nothing."""

    def __init__(self, spec: EngineSpec) -> None:
        self.spec, self.limits = spec, spec.limits
        self.block_size = spec.limits.block_size
        self.pool = BlockPool(spec.limits.kv_tokens // self.block_size)
        self.rels: dict[str, SimRel] = {}
        self.num_running = 0
        self._gone: list[str] = []
        self.num_cached_tokens = self.num_prompt_tokens = self.num_preemptions = 0

    def add(self, spec: RelSpec) -> None:
        """A relQuery arrives with all its rows."""
        state = RelState(spec.rel_id, spec.arrival_s, len(spec.rows), spec.output_cap)
        rel = SimRel(spec, state, num_left=len(spec.rows))
        for row in spec.rows:
            hashes = row.block_hashes(self.block_size) if self.spec.prefix_caching else ()
            rel.waiting.append(SimRow(rel, len(row.prompt), row.output_tokens, hashes))
        state.num_arrived = state.num_waiting = len(spec.rows)
        state.arrived_tokens = state.waiting_tokens = sum(len(r.prompt) for r in spec.rows)
        state.waiting_row_tokens = lambda: (r.tokens_to_compute for r in rel.waiting)
        self.rels[spec.rel_id] = rel

    def view(self, now_s: float) -> StepView:
        """What a policy is shown now; to be called once a step."""
        changed = [rel for rel in self.rels.values() if rel.has_changed]
        for rel in changed:
            rel.has_changed = False
        gone, self._gone = self._gone, []
        states = [rel.state for rel in changed]
        return StepView(
            states, gone, self.free_capacity(), self.limits, now_s, self.spec.cost, self.miss_ratio
        )

    def free_capacity(self) -> FreeCapacity:
        """Slots and KV tokens that are free."""
        return FreeCapacity(self.limits.max_num_seqs - self.num_running, self.pool.num_free * self.block_size)

    def miss_ratio(self, state: RelState) -> float:
        """Eq. 11 over the first SAMPLE waiting rows, as the paper's code samples them."""
        rows = [row for row, _ in zip(self.rels[state.rel_id].waiting, range(SAMPLE), strict=False)]
        tokens = sum(r.tokens_to_compute for r in rows)
        cached = sum(self.pool.num_cached(r.hashes) * self.block_size for r in rows)
        return 1.0 - cached / max(tokens, 1)

    def step(self, plan: StepDecision, now_s: float) -> StepWork:
        """Compute one step: decodes, then prompts in progress, then admissions, most urgent first."""
        work = StepWork()
        rels = [self.rels[state.rel_id] for state in plan.order]
        budget = self.limits.max_num_batched_tokens
        for rel in rels:
            if rel.decoding and plan.decodes(rel.state.rel_id) and self._grow(rel, rels, work):
                work.decoded.append(rel)
                work.num_decodes += len(rel.decoding)
        budget -= work.num_decodes
        for rel in rels:
            if rel.partial and plan.prefills(rel.state.rel_id):
                budget -= self._continue(rel, budget, work)
        for rel in rels:
            if budget <= 0 or not plan.prefills(rel.state.rel_id):
                continue
            left = None if plan.max_admit is None else plan.max_admit - work.admitted
            used, fits = self._admit(rel, budget, left, now_s, work)
            budget -= used
            if not fits:
                break
        return work

    def _grow(self, rel: SimRel, rels: list[SimRel], work: StepWork) -> bool:
        """Give a relQuery's decoding rows the blocks of this step, preempting the least urgent."""
        while (need := rel.grow[rel.clock % self.block_size]) > self.pool.num_free:
            victim = next((r for r in reversed(rels) if r.decoding and r not in work.decoded), None)
            if victim is None:
                return False
            self._preempt(victim, next(reversed(victim.decoding)), work)
            if not rel.decoding:
                return False
        self.pool.take_private(need)
        return True

    def _preempt(self, rel: SimRel, row: SimRow, work: StepWork) -> None:
        rel.finish[row.joined + row.num_output - row.generated].remove(row)
        rel.end_decode(row, self.block_size)
        self._free(row, row.num_prompt + row.generated - 1)
        rel.waiting.appendleft(row)
        rel.state.waiting_tokens += row.tokens_to_compute
        rel.num_preempted += 1
        self.num_preemptions += 1
        work.preempted += 1
        rel.renew_state()

    def _free(self, row: SimRow, num_tokens: int) -> None:
        blocks = ceil(num_tokens / self.block_size)
        self.pool.give_back(row.hashes, max(blocks, row.num_blocks) - len(row.hashes))
        row.num_blocks = 0
        self.num_running -= 1

    def _continue(self, rel: SimRel, budget: int, work: StepWork) -> int:
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
        used = 0
        while rel.waiting and used < budget:
            if most is not None and most <= 0:
                return used, False
            if self.num_running >= self.limits.max_num_seqs:
                return used, False
            row = rel.waiting[0]
            tokens = self._try_admit(row, budget - used)
            if tokens is None:
                return used, False
            rel.waiting.popleft()
            rel.state.waiting_tokens -= row.tokens_to_compute
            if rel.state.first_scheduled_s is None:
                rel.state.first_scheduled_s = now_s
            rel.partial.append(row)
            work.prefilled.append(row)
            work.admitted += 1
            most = None if most is None else most - 1
            used += tokens
            work.prefill_tokens += tokens
        return used, True

    def _try_admit(self, row: SimRow, budget: int) -> int | None:
        """Take memory for a row and compute what the budget allows; None if it does not fit."""
        total = row.tokens_to_compute
        cached = min(self.pool.num_cached(row.hashes), (total - 1) // self.block_size)
        left = total - cached * self.block_size
        if not self.spec.chunked and left > budget and budget < self.limits.max_num_batched_tokens:
            return None
        blocks = ceil(total / self.block_size)
        free_needed = blocks - cached + self.pool.num_idle(row.hashes[:cached])
        if free_needed > self.pool.num_free:
            return None
        self.pool.take(row.hashes, blocks - len(row.hashes))
        self.num_running += 1
        self.num_prompt_tokens += total
        self.num_cached_tokens += total - left
        row.num_blocks = blocks
        tokens = min(left, budget)
        row.prefill_left = left - tokens
        return tokens

    def finish(self, work: StepWork, now_s: float) -> list[SimRel]:
        """Account for a step that ended at `now_s`; gives the relQueries that are done."""
        done = []
        touched: dict[SimRel, None] = {}
        for rel in work.decoded:
            rel.clock += 1
            touched[rel] = None
            for row in rel.finish.pop(rel.clock, ()):
                rel.end_decode(row, self.block_size)
                self._free(row, row.num_prompt + row.num_output - 1)
                rel.num_left -= 1
        for row in work.prefilled:
            rel = row.rel
            touched[rel] = None
            if row.prefill_left:
                continue
            rel.partial.remove(row)
            if not row.generated:
                rel.last_first_token_s = now_s
            row.generated += 1
            if row.generated >= row.num_output:
                self._free(row, row.num_prompt)
                rel.num_left -= 1
            else:
                rel.begin_decode(row, self.block_size)
        for rel in touched:
            rel.renew_state()
            if not rel.num_left:
                rel.done_s = now_s
                done.append(rel)
                del self.rels[rel.state.rel_id]
                self._gone.append(rel.state.rel_id)
        return done
