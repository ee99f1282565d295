"""A quick forecast of what a dispatcher would have done to workflows that were served (HexGen-Text2SQL, 4.3).

As in the authors' simulator an engine computes prompts one after the other, first come, first served, and
each step decodes beside the others at a typical pace. A pass over 100 seconds takes some ten milliseconds.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from relserve.policies.workflows.dispatch import TYPICAL_DECODES, Dispatch, EngineState, NewStep
from relserve.policies.workflows.stages import DoneStep


class PastWorkflow(NamedTuple):
    """A workflow that was served: when it came, its steps level by level."""

    arrival_s: float
    levels: Sequence[Sequence[DoneStep]]


class _Lane:
    """An engine of the replay."""

    def __init__(self, state: EngineState) -> None:
        self.state = replace(
            state, num_waiting=0, num_running=0, prompt_tokens=0.0, output_tokens=0.0, waiting_s=0.0
        )
        self._free_s = 0.0
        self._waiting: deque[tuple[float, DoneStep, float]] = deque()  # start, step, its work

    def advance(self, now_s: float) -> None:
        """Begin the prompts whose turn has come."""
        state, waiting = self.state, self._waiting
        while waiting and waiting[0][0] <= now_s:
            _, step, work_s = waiting.popleft()
            state.num_waiting -= 1
            state.num_running += 1
            state.prompt_tokens -= step.prompt_tokens
            state.waiting_s = state.waiting_s - work_s if waiting else 0.0

    def add(self, step: DoneStep, now_s: float) -> float:
        """A step comes; gives when it will be done."""
        state, cost = self.state, self.state.cost
        begin_s = max(now_s, self._free_s)
        self._free_s = begin_s + step.prompt_tokens * cost.prefill_per_token_s
        work_s = step.demand.seconds(cost, TYPICAL_DECODES)
        self._waiting.append((begin_s, step, work_s))
        state.num_waiting += 1
        state.prompt_tokens += step.prompt_tokens
        state.output_tokens += step.output_tokens
        state.waiting_s += work_s
        return begin_s + work_s

    def end(self, step: DoneStep, now_s: float) -> None:
        """A step is done."""
        self.advance(now_s)
        self.state.num_running -= 1
        self.state.output_tokens -= step.output_tokens


def replay(
    workflows: Sequence[PastWorkflow], engines: Sequence[EngineState], dispatch: Dispatch
) -> list[float]:
    """The latency of each workflow, in seconds, if this dispatcher had served them.

    Args:
        engines: what the engines are; what they have to do counts for nothing.

    Raises:
        ValueError: there are no engines.
    """
    lanes = [_Lane(state) for state in engines]
    states = [lane.state for lane in lanes]
    level_of, num_left = [-1] * len(workflows), [0] * len(workflows)
    latencies = [0.0] * len(workflows)
    heap: list[tuple[float, int, int, int, DoneStep | None]] = [
        (flow.arrival_s, number, number, -1, None) for number, flow in enumerate(workflows)
    ]
    heapq.heapify(heap)
    sequence = len(heap)
    while heap:
        now_s, _, number, lane, step = heapq.heappop(heap)
        if step is not None:
            lanes[lane].end(step, now_s)
            num_left[number] -= 1
            if num_left[number]:
                continue
        level_of[number] += 1
        levels = workflows[number].levels
        if level_of[number] == len(levels):
            latencies[number] = now_s - workflows[number].arrival_s
            continue
        for each in lanes:
            each.advance(now_s)
        level = levels[level_of[number]]
        num_left[number] = len(level)
        for follower in level:
            chosen = dispatch.choose(NewStep(str(number), follower.stage, follower.demand), states)
            sequence += 1
            end_s = lanes[chosen].add(follower, now_s)
            lanes[chosen].advance(now_s)
            heapq.heappush(heap, (end_s, sequence, number, chosen, follower))
    return latencies
