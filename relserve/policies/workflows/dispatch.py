"""To which of several unequal engines a step goes: as published, the usual ways, and by predicted finish."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from relserve.policies.cost import CostModel
from relserve.policies.workflows.types import Demand

TYPICAL_DECODES = 32.0  # requests that decode together where a step's time is told in advance
ALPHA, BETA = 0.3, 1000.0
NOBODY: Mapping[str, float] = {}


@dataclass(slots=True)
class EngineState:
    """A snapshot of one engine: what it is and what it has to do.

    Attributes:
        name: tells it from the others, also when engines join and leave.
        cost: what its steps cost.
        token_budget: tokens of a step.
        num_waiting, num_running: steps that wait, and those that hold memory.
        prompt_tokens: still to be computed, of both.
        output_tokens: still to be said by what is expected, of both; below 0 where more was said.
        waiting_s: work of those that wait, t_queue of Eq. 3.
    """

    name: str
    cost: CostModel
    token_budget: int
    num_waiting: int = 0
    num_running: int = 0
    prompt_tokens: float = 0.0
    output_tokens: float = 0.0
    waiting_s: float = 0.0


@dataclass(slots=True, frozen=True)
class NewStep:
    """A step to be dispatched.

    Attributes:
        demand: its prompt, and the output that is expected.
        cached_tokens: how much of the prompt an engine is taken to hold, by its name; 0 where it is missing.
    """

    workflow: str
    stage: str
    demand: Demand
    cached_tokens: Mapping[str, float] = field(default_factory=lambda: NOBODY)


class Dispatch(Protocol):
    """Chooses the engine of each step; sees snapshots, which may be old."""

    def choose(self, step: NewStep, engines: Sequence[EngineState]) -> int:
        """The engine's place in the sequence, which may have changed since the last step.

        Raises:
            ValueError: there is none.
        """


class RoundRobin:
    """One engine after the other."""

    def __init__(self) -> None:
        self._next = 0

    def choose(self, step: NewStep, engines: Sequence[EngineState]) -> int:
        """See `Dispatch.choose`."""
        _some(engines)
        chosen = self._next % len(engines)
        self._next = chosen + 1
        return chosen


class WeightedRoundRobin:
    """In turn, each as often as it is fast at prompts, spread evenly (smooth weighted round robin)."""

    def __init__(self) -> None:
        self._credit: dict[str, float] = {}

    def choose(self, step: NewStep, engines: Sequence[EngineState]) -> int:
        """See `Dispatch.choose`."""
        _some(engines)
        weights = [1.0 / engine.cost.prefill_per_token_s for engine in engines]
        credit = [self._credit.get(e.name, 0.0) + w for e, w in zip(engines, weights, strict=True)]
        chosen = max(range(len(engines)), key=credit.__getitem__)
        credit[chosen] -= sum(weights)
        self._credit = {engine.name: value for engine, value in zip(engines, credit, strict=True)}
        return chosen


class LeastRequests:
    """The engine with the fewest steps, waiting or running; in turn where several have as few."""

    def __init__(self) -> None:
        self._next = 0

    def choose(self, step: NewStep, engines: Sequence[EngineState]) -> int:
        """See `Dispatch.choose`."""
        _some(engines)
        number, first = len(engines), self._next % len(engines)
        turns = [*range(first, number), *range(first)]
        chosen: int = min(turns, key=lambda i: engines[i].num_waiting + engines[i].num_running)
        self._next = chosen + 1
        return chosen


class WorkloadBalanced:
    """As published: the greatest (1 - alpha) beta / t_queue - alpha t_comp (Eq. 4).

    An engine with t_queue zero has the best first term there can be: among such ones the least alpha t_comp
    decides, then the fewest steps.

    Args:
        alpha: from 0, the shortest queue, to 1, the fastest engine.
        beta: weighs the two, in square seconds; the paper fixes it "by some trials" and does not tell it.
        queue: t_queue; as published the work of the steps that wait (Eq. 3), or `prompts_s`.
    """

    def __init__(
        self, alpha: float = ALPHA, beta: float = BETA, queue: Callable[[EngineState], float] | None = None
    ) -> None:
        self.alpha, self.beta, self._queue_s = alpha, beta, queue or waiting_s

    def choose(self, step: NewStep, engines: Sequence[EngineState]) -> int:
        """See `Dispatch.choose`."""
        _some(engines)
        alpha, beta, queue_s = self.alpha, self.beta, self._queue_s
        best, found = (-1, 0.0, 0.0), 0
        for place, engine in enumerate(engines):
            cost_s = alpha * step.demand.seconds(engine.cost, TYPICAL_DECODES)
            before_s = queue_s(engine)
            if before_s > 0:
                score = (0, (1.0 - alpha) * beta / before_s - cost_s, 0.0)
            else:
                score = (1, -cost_s, -engine.num_running - engine.num_waiting)
            if score > best:
                best, found = score, place
        return found


def waiting_s(engine: EngineState) -> float:
    """t_queue as published: the work of the steps that wait (Eq. 3), decoding included."""
    return engine.waiting_s


def prompts_s(engine: EngineState) -> float:
    """t_queue repaired: until an engine gets to a step that comes now.

    The prompts of all that waits or runs count; what others decode meanwhile is decoded beside.
    """
    return max(engine.prompt_tokens, 0.0) * engine.cost.prefill_per_token_s


class PredictedFinish:
    """Ours: the engine that is expected to be done with the step first.

    Prompts go one after the other through what a step's budget leaves beside the rows that decode, all that
    waits or runs before this one; then it decodes, a token a step. What an engine holds of the prompt needs
    no computing there.
    """

    def choose(self, step: NewStep, engines: Sequence[EngineState]) -> int:
        """See `Dispatch.choose`."""
        _some(engines)
        prompt, output = step.demand
        cached, best, found = step.cached_tokens, float("inf"), 0
        for place, engine in enumerate(engines):
            cost, decodes = engine.cost, engine.num_running
            # Written out, with no calls: this is run for each step and engine.
            room = engine.token_budget - decodes
            room = room if room > 1 else 1
            rows_s = cost.decode_per_request_s * decodes
            full_s = cost.prefill_per_token_s * room + rows_s + cost.shared_base_s
            before_s = engine.prompt_tokens / room * full_s if engine.prompt_tokens > 0 else 0.0
            own = prompt - cached.get(engine.name, 0.0) if cached else prompt
            alone_s = rows_s + cost.decode_per_request_s + cost.decode_base_s
            # It shares its steps with prompts as long as there are prompts while it decodes.
            busy_s = output * full_s
            busy_s = busy_s if busy_s < before_s else before_s
            finish_s = before_s + own / room * full_s + output * alone_s + busy_s * (1.0 - alone_s / full_s)
            if finish_s < best:
                best, found = finish_s, place
        return found


def _some(engines: Sequence[EngineState]) -> None:
    if not engines:
        raise ValueError("there is no engine to send a step to")
