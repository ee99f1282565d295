"""The engine of single requests: what a caching policy's plan does to them, to the pool, and to the clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from lab.simulator.requests.sim_request import RequestSpec, SimRequest
from lab.simulator.requests.times import EngineTimes
from relserve.policies.caching.requests import NOTHING as NOTHING_HELD
from relserve.policies.caching.requests import CacheType, RequestColumns, RequestState
from relserve.policies.caching.state import BatchLimits, BlockMemory, CachePlan, CacheView
from relserve.policies.model.means import RecentMean
from relserve.policies.model.work import Column, Work


class RequestsEngineSpec(NamedTuple):
    """An engine: how long its steps take, its pool, its limits.

    Attributes:
        exclusive: a step computes prompts or decodes, prompts first and whole, as vLLM's engine V0 did; of a
            mixed plan only the prompts then run, where it has any.
    """

    times: EngineTimes
    memory: BlockMemory
    limits: BatchLimits
    exclusive: bool = False


NOTHING = Work()


@dataclass(slots=True)
class RequestsStep:
    """What a step computes.

    Attributes:
        done: requests all of whose tokens are in memory after it, so that each says one more.
        cut: requests with a part of their prompt still to compute after it.
        num_prompts: requests that compute more than the next token.
    """

    done: list[SimRequest] = field(default_factory=list)
    cut: list[SimRequest] = field(default_factory=list)
    num_prompts: int = 0
    num_dropped: int = 0
    work: Work = NOTHING


class SimulatedRequestsEngine:
    """Requests, memory, and the mechanics of a step; decides nothing and has no clock.

    Args:
        on_end: is told of each request that has ended.

    Attributes:
        table: the unfinished requests as the policy sees them.
        used_blocks: blocks of all that hold something.
    """

    def __init__(self, spec: RequestsEngineSpec, on_end: Callable[[SimRequest], None] | None = None) -> None:
        self.spec, self.table, self._on_end = spec, RequestColumns(), on_end
        self.live: dict[str, SimRequest] = {}
        self.used_blocks = self.num_holding = 0
        self._num_finished, self._output = 0, RecentMean()
        self._sizes: dict[CacheType, int] = {
            "kv": spec.memory.kv_tokens_per_block, "hidden": spec.memory.hidden_tokens_per_block,
        }  # fmt: skip

    def add(self, spec: RequestSpec) -> SimRequest:
        """A request comes; it is expected to say as much as those that have ended did on average."""
        request = SimRequest(f"r{self._num_finished + len(self.live)}", spec, spec.num_prompt)
        self.live[request.request_id] = request
        self.table.put(
            RequestState(
                request.request_id, spec.arrival_s, spec.num_prompt, spec.num_prompt,
                ttft_slo_s=spec.ttft_slo_s, tpot_slo_s=spec.tpot_slo_s, expected_left=self._output.value,
            )
        )  # fmt: skip
        return request

    def view(self, now_s: float) -> CacheView:
        """What the policy sees."""
        spec = self.spec
        return CacheView(now_s, self.table, spec.memory, spec.limits, spec.times.costs)

    @property
    def somebody_fits(self) -> bool:
        """Whether one that waits could come in, as the smaller of the types."""
        waiting = self.table.num_tokens[self.table.holds == NOTHING_HELD]
        if not len(waiting):
            return False
        least = -(-int(waiting.min()) // max(self._sizes.values()))
        return least <= self.spec.memory.num_blocks - self.used_blocks

    def begin(self, plan: CachePlan) -> RequestsStep:
        """Begin a step as planned.

        Raises:
            RuntimeError: the plan needs more blocks than there are, or a type that the request does not hold.
        """
        for request_id in plan.drop:
            self._drop(self.live[request_id])
        step = RequestsStep(num_dropped=len(plan.drop))
        run = [(self.live[request_id], cache) for request_id, cache in plan.run]
        if self.spec.exclusive and plan.phase == "mixed":
            run = self._prompts_alone(run)
        most = self.spec.limits.max_num_batched_tokens
        self._compute(run, step, most if plan.most_tokens is None else min(plan.most_tokens, most))
        if self.used_blocks > (blocks := self.spec.memory.num_blocks):
            raise RuntimeError(
                f"the plan ({plan.reason}) needs {self.used_blocks} blocks, there are {blocks}"
            )
        return step

    def _drop(self, request: SimRequest) -> None:
        self.used_blocks -= request.blocks
        self.num_holding -= 1
        request.cache, request.num_computed, request.blocks = None, 0, 0
        self.table.hold(request.request_id, None, 0)

    def _prompts_alone(self, run: list[tuple[SimRequest, CacheType]]) -> list[tuple[SimRequest, CacheType]]:
        """The prompts that fit a step whole, at least one; all, where none has a prompt to compute."""
        prompts = [pair for pair in run if pair[0].num_tokens - pair[0].num_computed > 1 or not pair[0].cache]
        budget, whole = self.spec.limits.max_num_batched_tokens, 0
        for request, _ in prompts:
            budget -= request.num_tokens - request.num_computed
            if budget < 0 and whole:
                break
            whole += 1
        return prompts[:whole] or run

    def _compute(self, run: list[tuple[SimRequest, CacheType]], step: RequestsStep, budget: int) -> None:
        pairs, cached_pairs, remaining = 0.0, 0.0, budget
        context = made = num_decodes = 0
        read = {"kv": 0, "hidden": 0}
        for request, cache in run:
            if remaining <= 0:
                break
            if request.cache is None:
                request.cache = cache
                self.num_holding += 1
                self.table.hold(request.request_id, cache, 0)
            elif request.cache != cache:
                raise RuntimeError(f"{request.request_id} holds {request.cache}, the plan runs it as {cache}")
            needed = -(-request.num_tokens // self._sizes[cache])
            self.used_blocks += needed - request.blocks
            request.blocks = needed
            before, tokens = request.num_computed, request.num_tokens - request.num_computed
            context += before
            if tokens == 1 and request.token_s:
                num_decodes += 1
                read[cache] += before
            elif cache == "hidden":
                made += before
            if tokens > 1:
                step.num_prompts += 1
                tokens = min(tokens, remaining)
                pairs += tokens * (tokens + 1) / 2
                cached_pairs += tokens * before
            remaining -= tokens
            request.num_computed = before + tokens
            (step.done if request.num_computed == request.num_tokens else step.cut).append(request)
        step.work = Work(
            budget - remaining - num_decodes, len(step.done) + len(step.cut) - num_decodes, num_decodes,
            context, pairs + cached_pairs, cached_pairs, read["kv"], read["hidden"], made,
        )  # fmt: skip

    def finish(self, step: RequestsStep, now_s: float) -> None:
        """End a step: a request that has computed all generates a token; one that has all of its own goes."""
        for request in step.cut:
            self.table.hold(request.request_id, request.cache, request.num_computed)
        self.table.answered([request.request_id for request in step.done], now_s)
        for request in step.done:
            request.num_tokens += 1
            request.token_s.append(now_s)
            if request.is_finished:
                self._remove(request)

    def _remove(self, request: SimRequest) -> None:
        self.used_blocks -= request.blocks
        self.num_holding -= 1
        self._num_finished += 1
        self._output = self._output.with_value(request.spec.num_output)
        request.cache, request.blocks = None, 0
        del self.live[request.request_id]
        self.table.remove(request.request_id)
        if self._on_end is not None:
            self._on_end(request)

    def decode_on(self, step: RequestsStep, now_s: float, until_s: float) -> tuple[float, int]:
        """Repeat a decode step while all its requests go on and fit, and it begins before `until_s`.

        Returns:
            When the last one ends, and how many there were.
        """
        ends = self.decodes(step.done, now_s)
        begins = np.concatenate([[now_s], ends[:-1]])
        num_steps = int(np.searchsorted(begins, until_s, side="left")) if len(ends) else 0
        if not num_steps:
            return now_s, 0
        self.gave_tokens(step.done, ends[:num_steps].tolist())
        return float(ends[num_steps - 1]), num_steps

    def decodes(self, requests: Sequence[SimRequest], now_s: float) -> Column:
        """When each of the steps ends that decode these requests, in a row from now on.

        There are so many until one of them ends or memory is short, if nobody else comes in.
        """
        sizes = np.array([self._sizes[r.cache] for r in requests if r.cache])
        tokens = np.array([r.num_tokens for r in requests])
        most = min([r.num_left for r in requests])
        free = self.spec.memory.num_blocks - self.used_blocks
        held = int(sum([r.blocks for r in requests]))
        num_steps = _most_steps(tokens, sizes, held + free, most)
        work, growth = _next_work(requests)
        seconds = self.spec.times.of_decodes(work, growth, num_steps)
        return np.add.accumulate(np.concatenate([[now_s], seconds]))[1:]

    def gave_tokens(self, requests: Sequence[SimRequest], token_s: Sequence[float]) -> None:
        """All these requests have decoded at these times; those that have all their tokens go."""
        number = len(token_s)
        for request in requests:
            assert request.cache is not None
            request.token_s.extend(token_s)
            request.num_tokens += number
            request.num_computed += number
            needed = -(-request.num_computed // self._sizes[request.cache])
            self.used_blocks += needed - request.blocks
            request.blocks = needed
        tokens = np.array([request.num_tokens for request in requests])
        computed = np.array([request.num_computed for request in requests])
        rows = self.table.rows_of(request.request_id for request in requests)
        self.table.renew(rows, tokens, computed, np.full(len(rows), token_s[-1]))
        for request in requests:
            if request.is_finished:
                self._remove(request)


def _next_work(requests: Sequence[SimRequest]) -> tuple[Work, tuple[int, int]]:
    kv = [r.num_computed for r in requests if r.cache == "kv"]
    hidden = [r.num_computed for r in requests if r.cache == "hidden"]
    number = len(requests)
    of_kv, of_hidden = sum(kv), sum(hidden)
    work = Work(0, 0, number, of_kv + of_hidden, kv_tokens=of_kv, hidden_tokens=of_hidden)
    return work, (len(kv), len(hidden))


def _most_steps(tokens: np.ndarray, sizes: np.ndarray, blocks: int, most: int) -> int:
    """How many steps in a row, at most `most`, fit the blocks; each request has one more token a step."""

    def fits(steps: int) -> bool:
        return int((-(-(tokens + steps - 1) // sizes)).sum()) <= blocks

    if most < 1 or fits(most):
        return max(most, 0)
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
