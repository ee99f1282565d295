"""An engine that serves steps of workflows: chunks of prompts mixed into decodes, paged memory, one queue.

Leaner than the engine of relQueries: every step that runs decodes in every engine step, so the engine counts
its decode steps and knows at which count each of them ends; equal engine steps are computed together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple

from lab.simulator.blocks import SimulatedBlockPool
from lab.simulator.workflows.budget import StepBudget
from lab.simulator.workflows.order import StepOrder
from lab.simulator.workflows.queue import StepQueue
from lab.simulator.workflows.workload import StepSpec
from relserve.policies.dispatch.state import EngineLoad, Member
from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.state import EngineLimits
from relserve.policies.workflows.types import QueuedStep


class WorkflowEngineSpec(NamedTuple):
    """An engine.

    Attributes:
        kind: what it runs on.
        limits: of which `max_num_batched_tokens` is the budget of a step.
        budget: chooses the prompts' part of it from step to step; None: all that decodes leave.
    """

    name: str
    kind: str
    cost: CostModel
    limits: EngineLimits
    prefix_caching: bool = False
    budget: StepBudget | None = None

    @property
    def member(self) -> Member:
        """As a router is told of it: its weight is how fast it is at prompts."""
        limits, token_s = self.limits, self.cost.prefill_per_token_s
        tokens = limits.max_num_batched_tokens
        return Member(self.name, self.cost, tokens, float(limits.kv_tokens), 1.0 / token_s)


@dataclass(slots=True, eq=False)
class SimStep:
    """A step on an engine.

    Attributes:
        owner: whoever waits for its end.
        expected: output tokens that it was taken to say.
    """

    spec: StepSpec
    queued: QueuedStep
    owner: object
    expected: float
    prompt_left: int
    num_blocks: int = 0


@dataclass(slots=True)
class StepStretch:
    """Equal engine steps, one after the other.

    Attributes:
        prefills: prompts that are computed, with the tokens of each in every engine step.
        may_end_early: whether whoever comes could change its next step: it is to be shortened then.
    """

    begin_s: float
    step_s: float
    num_steps: int
    num_decodes: int
    prefills: list[tuple[SimStep, int]]
    may_end_early: bool

    @property
    def end_s(self) -> float:
        """When the last step is over."""
        return self.begin_s + self.num_steps * self.step_s

    def shorten(self, now_s: float) -> bool:
        """Stop after the engine step that runs now; gives whether that is earlier."""
        num_steps = max(ceil((now_s - self.begin_s) / self.step_s), 1)
        if num_steps >= self.num_steps:
            return False
        self.num_steps = num_steps
        return True


@dataclass(slots=True)
class EngineTotals:
    """What an engine did: engine steps, prompt tokens computed and found in its cache, seconds at work."""

    num_steps: int = 0
    computed_tokens: int = 0
    cached_tokens: int = 0
    busy_s: float = 0.0
    stages: dict[str, int] = field(default_factory=dict)


class StepEngine:
    """Queue, memory and the mechanics of engine steps; has no clock.

    A step takes the memory of its prompt and its whole output when it is let in, so nothing is preempted.

    Attributes:
        load: what a router is told of it.
        running: the engine steps that are being computed.
    """

    def __init__(self, spec: WorkflowEngineSpec, order: StepOrder) -> None:
        self.spec, limits = spec, spec.limits
        self._size = limits.block_size
        self.pool = SimulatedBlockPool(limits.kv_tokens // self._size)
        self.load = EngineLoad(limits.max_num_batched_tokens)
        self.totals = EngineTotals()
        self.running: StepStretch | None = None
        self._queue = StepQueue(order)
        self._waiting: dict[int, SimStep] = {}
        self._partial: list[SimStep] = []
        self._clock = self._num_decoding = 0
        self._ending: dict[int, list[SimStep]] = {}

    def num_cached(self, spec: StepSpec) -> int:
        """Tokens of a prompt that the engine holds."""
        if not self.spec.prefix_caching:
            return 0
        return min(self.pool.num_cached(spec.hashes), (spec.prompt_tokens - 1) // self._size) * self._size

    def add(self, step: SimStep, now_s: float) -> None:
        """A step comes.

        Raises:
            ValueError: it will never fit the memory.
        """
        spec, load = step.spec, self.load
        step.num_blocks = ceil((spec.prompt_tokens + spec.output_tokens) / self._size)
        if step.num_blocks > self.pool.num_blocks:
            raise ValueError(f"a step of {step.num_blocks} blocks, there are {self.pool.num_blocks}")
        self._waiting[self._queue.add(step.queued, now_s)] = step
        load.num_waiting += 1
        load.prompt_tokens += spec.prompt_tokens
        load.output_tokens += step.expected
        load.waiting_s += step.queued.work_s
        self.totals.stages[spec.stage] = self.totals.stages.get(spec.stage, 0) + 1

    def begin(self, now_s: float) -> StepStretch | None:
        """Begin engine steps; None: there is nothing to do."""
        decodes = self._num_decoding
        budget = self._budget(decodes)
        prefills: list[tuple[SimStep, int]] = []
        for step in self._partial:
            tokens = min(step.prompt_left, budget)
            if tokens <= 0:
                break
            prefills.append((step, tokens))
            budget -= tokens
        while budget > 0 and self._queue:
            admitted = self._admit(now_s)
            if admitted is None:
                break
            tokens = min(admitted.prompt_left, budget)
            prefills.append((admitted, tokens))
            budget -= tokens
        if not prefills and not decodes:
            return None
        total = sum([tokens for _, tokens in prefills])
        step_s = self.spec.cost.step(total, decodes)
        may_end_early = not prefills or self.spec.budget is not None
        number = self._num_equal(prefills)
        self.running = StepStretch(now_s, step_s, number, decodes, prefills, may_end_early)
        return self.running

    def _budget(self, decodes: int) -> int:
        """Tokens of prompts in the next step."""
        spec, load = self.spec, self.load
        most = spec.limits.max_num_batched_tokens - decodes
        if spec.budget is None:
            return most
        tokens = min(spec.budget.tokens(spec.cost, load.prompt_tokens), most)
        load.budget_tokens = tokens + decodes
        return tokens

    def _num_equal(self, prefills: list[tuple[SimStep, int]]) -> int:
        """Engine steps like this one that follow before a decode ends or a prompt does."""
        if len(prefills) > 1:
            return 1
        until_end = min(self._ending) - self._clock if self._ending else None
        if not prefills:
            assert until_end is not None
            return until_end
        step, tokens = prefills[0]
        whole = max(step.prompt_left // tokens, 1)
        if self.spec.budget is not None:
            remaining = self.load.prompt_tokens - self.spec.budget.busy_tokens(self.spec.cost)
            whole = min(whole, max(ceil(remaining / tokens), 1)) if remaining > 0 else whole
        return whole if until_end is None else min(whole, until_end)

    def _admit(self, now_s: float) -> SimStep | None:
        """Let the next step in; None where no slot is free or its memory is not."""
        load, pool = self.load, self.pool
        if load.num_running >= self.spec.limits.max_num_seqs:
            return None
        number, queued = self._queue.first(now_s)
        step = self._waiting[number]
        hashes = step.spec.hashes if self.spec.prefix_caching else ()
        cached = min(pool.num_cached(hashes), (step.spec.prompt_tokens - 1) // self._size)
        blocks, free = step.num_blocks, pool.num_free
        if blocks > free and blocks - cached + pool.num_idle(hashes[:cached]) > free:
            return None
        self._queue.withdraw(number)
        del self._waiting[number]
        pool.take(hashes, blocks - len(hashes))
        step.prompt_left = step.spec.prompt_tokens - cached * self._size
        self.totals.cached_tokens += cached * self._size
        load.prompt_tokens -= cached * self._size
        load.num_waiting -= 1
        load.num_running += 1
        load.waiting_s = load.waiting_s - queued.work_s if load.num_waiting else 0.0
        self._partial.append(step)
        return step

    def finish(self) -> list[SimStep]:
        """End the engine steps that run; gives the steps that are done."""
        stretch, load, totals = self.running, self.load, self.totals
        assert stretch is not None
        self.running = None
        number = stretch.num_steps
        totals.num_steps += number
        totals.busy_s += number * stretch.step_s
        self._clock += number
        load.output_tokens -= number * stretch.num_decodes
        done = self._ending.pop(self._clock, [])
        self._num_decoding -= len(done)
        for step, tokens in stretch.prefills:
            step.prompt_left -= number * tokens
            load.prompt_tokens -= number * tokens
            totals.computed_tokens += number * tokens
            if not step.prompt_left:
                self._end_of_prompt(step, done)
        for step in done:
            self._free(step)
        return done

    def _end_of_prompt(self, step: SimStep, done: list[SimStep]) -> None:
        """The first token is generated."""
        self._partial.remove(step)
        self.load.output_tokens -= 1
        if step.spec.output_tokens <= 1:
            done.append(step)
            return
        self._ending.setdefault(self._clock + step.spec.output_tokens - 1, []).append(step)
        self._num_decoding += 1

    def _free(self, step: SimStep) -> None:
        hashes = step.spec.hashes if self.spec.prefix_caching else ()
        self.pool.give_back(hashes, step.num_blocks - len(hashes))
        self.load.num_running -= 1
        self.load.output_tokens -= step.expected - max(step.spec.output_tokens, 1)
