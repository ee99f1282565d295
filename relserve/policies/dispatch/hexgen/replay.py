"""A quick forecast of what a router would have done to workflows that were served (HexGen-Text2SQL, 4.3).

As in the authors' simulator an engine computes prompts one after the other, first come, first served, and
each step decodes beside the others at a typical pace. A pass over 100 seconds takes some ten milliseconds.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence

from relserve.policies.dispatch.hexgen.balanced import TYPICAL_DECODES
from relserve.policies.dispatch.member_table import MemberTable
from relserve.policies.dispatch.policy import DispatchPolicy
from relserve.policies.dispatch.state import EngineLoad, Request
from relserve.policies.model.linear import CostModel
from relserve.policies.workflows.stages import DoneStep, PastWorkflow


class _Lane:
    """An engine of the replay.

    Attributes:
        is_told: whether the router knows its load as it is.
    """

    def __init__(self, cost: CostModel, budget_tokens: float) -> None:
        self.load, self.is_told = EngineLoad(budget_tokens), False
        self._cost, self._free_s = cost, 0.0
        self._waiting: deque[tuple[float, DoneStep, float]] = deque()  # start, step, its work

    def advance(self, now_s: float) -> None:
        """Begin the prompts whose turn has come."""
        load, waiting = self.load, self._waiting
        while waiting and waiting[0][0] <= now_s:
            _, step, work_s = waiting.popleft()
            load.num_waiting -= 1
            load.num_running += 1
            load.prompt_tokens -= step.prompt_tokens
            load.waiting_s = load.waiting_s - work_s if waiting else 0.0
            self.is_told = False

    def add(self, step: DoneStep, now_s: float) -> float:
        """A step comes; gives when it will be done."""
        load, cost = self.load, self._cost
        begin_s = max(now_s, self._free_s)
        self._free_s = begin_s + step.prompt_tokens * cost.prefill_per_token_s
        work_s = step.demand.seconds(cost, TYPICAL_DECODES)
        self._waiting.append((begin_s, step, work_s))
        load.num_waiting += 1
        load.prompt_tokens += step.prompt_tokens
        load.output_tokens += step.output_tokens
        load.waiting_s += work_s
        self.is_told = False
        return begin_s + work_s

    def end(self, step: DoneStep, now_s: float) -> None:
        """A step is done."""
        self.advance(now_s)
        self.load.num_running -= 1
        self.load.output_tokens -= step.output_tokens
        self.is_told = False


class _Replayed:
    """Idle engines like a fleet's members, and a router that knows their queues."""

    def __init__(self, members: MemberTable, policy: DispatchPolicy) -> None:
        self.members, self._policy = members.emptied(), policy
        budgets = self.members["token_budget"].tolist()
        self.lanes = [_Lane(*each) for each in zip(self.members.costs(), budgets, strict=True)]

    def send(self, step: DoneStep, now_s: float) -> tuple[int, float]:
        """A step comes; gives the number of its engine, and when it will be done."""
        for row, lane in enumerate(self.lanes):
            if not lane.is_told:
                self.members.know(row, lane.load, now_s)
                lane.is_told = True
        request = Request(step.prompt_tokens, step.output_tokens)
        chosen = self._policy.choose(request, self.members, now_s)
        end_s = self.lanes[chosen].add(step, now_s)
        self.lanes[chosen].advance(now_s)
        return chosen, end_s


def replay(workflows: Sequence[PastWorkflow], members: MemberTable, policy: DispatchPolicy) -> list[float]:
    """The latency of each workflow, in seconds, if this router had served them.

    Args:
        members: tells what they are; what they have to do counts for nothing, and is not changed.

    Raises:
        ValueError: there is no member.
    """
    replayed = _Replayed(members, policy)
    lanes = replayed.lanes
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
            chosen, end_s = replayed.send(follower, now_s)
            sequence += 1
            heapq.heappush(heap, (end_s, sequence, number, chosen, follower))
    return latencies
