"""Serve workflows on several engines: who dispatches what when, and what comes of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from lab.simulator.events import Event, EventHeap
from lab.simulator.workflows.engine import EngineTotals, SimStep, StepEngine, StepStretch, WorkflowEngineSpec
from lab.simulator.workflows.order import StepOrder
from lab.simulator.workflows.workload import StepSpec, WorkflowSpec
from relserve.policies.dispatch.hexgen.balanced import TYPICAL_DECODES
from relserve.policies.dispatch.member_table import MemberTable
from relserve.policies.dispatch.policy import DispatchPolicy, TunedPolicy
from relserve.policies.dispatch.state import Request
from relserve.policies.workflows.stages import DoneStep, PastWorkflow, StageLearner, longest
from relserve.policies.workflows.types import Demand, QueuedStep


class ServedWorkflow(NamedTuple):
    """A workflow that was served, and when it was done."""

    spec: WorkflowSpec
    done_s: float

    @property
    def latency_s(self) -> float:
        """From its arrival."""
        return self.done_s - self.spec.arrival_s

    @property
    def is_in_time(self) -> bool:
        """Whether its deadline was met, if it had one."""
        return self.spec.deadline_s is None or self.done_s <= self.spec.deadline_s


@dataclass
class WorkflowsOutcome:
    """What was measured.

    Attributes:
        served: in the order in which they were done.
        engines: by name, what each engine did.
        dispatch_s: real time of all decisions.
        num_dispatched: how many there were.
    """

    served: list[ServedWorkflow] = field(default_factory=list)
    engines: dict[str, EngineTotals] = field(default_factory=dict)
    dispatch_s: float = 0.0
    num_dispatched: int = 0


@dataclass(slots=True)
class _Flow:
    """A workflow that runs: its current level and how many steps of it are not done."""

    spec: WorkflowSpec
    level: int = -1
    num_left: int = 0


class Coordinator:
    """Sends the steps of workflows to engines, each level when the one before is done.

    Args:
        order: gives each engine its order; an order may remember, so each has its own.
        looks_up: whether the router is told what engines hold of a prompt.
    """

    def __init__(
        self, engines: Sequence[WorkflowEngineSpec], dispatch: DispatchPolicy, order: Callable[[], StepOrder],
        learner: StageLearner, looks_up: bool,
    ) -> None:  # fmt: skip
        self.engines = [StepEngine(spec, order()) for spec in engines]
        self.members = MemberTable()
        for spec in engines:
            self.members.join(spec.member)
        self._dispatch, self._learner, self._looks_up = dispatch, learner, looks_up
        self.outcome = WorkflowsOutcome(engines={e.spec.name: e.totals for e in self.engines})

    def arrive(self, spec: WorkflowSpec, now_s: float) -> list[Event]:
        """A workflow comes. A router that tunes itself is told its steps, as a replay would know them."""
        if isinstance(self._dispatch, TunedPolicy):
            levels = [[_done(step) for step in level] for level in spec.levels]
            self._dispatch.arrived(PastWorkflow(now_s, levels), now_s)
        return self._next_level(_Flow(spec), now_s)

    def _next_level(self, flow: _Flow, now_s: float) -> list[Event]:
        spec = flow.spec
        flow.level += 1
        if flow.level == len(spec.levels):
            self.outcome.served.append(ServedWorkflow(spec, now_s))
            self._learner.workflow_ended([[_done(step) for step in level] for level in spec.levels])
            if isinstance(self._dispatch, TunedPolicy):
                tune = self._dispatch.ended(now_s - spec.arrival_s, now_s, self.members)
                if tune is not None:
                    self._dispatch.take(tune(), now_s)
            return []
        level = spec.levels[flow.level]
        flow.num_left = len(level)
        return [event for step in level for event in self._send(flow, step, now_s)]

    def _send(self, flow: _Flow, spec: StepSpec, now_s: float) -> list[Event]:
        expected = self._learner.output_tokens(spec.stage)
        demand = Demand(spec.prompt_tokens, expected)
        cached = {e.spec.name: float(e.num_cached(spec)) for e in self.engines} if self._looks_up else {}
        request = Request(spec.prompt_tokens, expected, cached_tokens=cached)
        self.outcome.num_dispatched += 1
        for row, each in enumerate(self.engines):
            self.members.know(row, each.load, now_s)
        started = time.perf_counter()
        chosen = self._dispatch.choose(request, self.members, now_s)
        self.outcome.dispatch_s += time.perf_counter() - started
        engine = self.engines[chosen]
        queued = self._queued(flow, spec.stage, demand, engine, now_s)
        engine.add(SimStep(spec, queued, flow, expected, spec.prompt_tokens), now_s)
        running = engine.running
        if running is None:
            return [StepBegins(now_s, self, engine)]
        if running.may_end_early and running.shorten(now_s):
            return [StepEnds(running.end_s, self, engine, running)]
        return []

    def _queued(
        self, flow: _Flow, stage: str, demand: Demand, engine: StepEngine, now_s: float
    ) -> QueuedStep:
        """What the engine's queue is told of a step."""
        after, costs = self._learner.after(stage), [engine.spec.cost for engine in self.engines]
        mean_s = sum([demand.seconds(cost, TYPICAL_DECODES) for cost in costs]) / len(costs)
        after_s = sum([after.seconds(cost, TYPICAL_DECODES) for cost in costs]) / len(costs)
        return QueuedStep(
            flow.spec.name, stage, now_s, flow.spec.arrival_s, flow.spec.deadline_s,
            demand.seconds(engine.spec.cost, TYPICAL_DECODES), mean_s + after_s, mean_s,
        )  # fmt: skip

    def ended(self, step: SimStep, now_s: float) -> list[Event]:
        """A step is done; the last of its level begins the next."""
        flow = step.owner
        assert isinstance(flow, _Flow)
        self._learner.ended(_done(step.spec))
        flow.num_left -= 1
        return [] if flow.num_left else self._next_level(flow, now_s)


def _done(step: StepSpec) -> DoneStep:
    return DoneStep(step.stage, step.prompt_tokens, step.output_tokens)


@dataclass(slots=True)
class StepEnds:
    """Engine steps are over; first, so that whoever comes at this time finds them done."""

    rank: ClassVar[int] = 0
    time_s: float
    coordinator: Coordinator
    engine: StepEngine
    stretch: StepStretch

    def handle(self) -> Iterable[Event]:
        """See `Event.handle`. One that has been cut short is over already."""
        if self.engine.running is not self.stretch or self.stretch.end_s != self.time_s:
            return []
        events: list[Event] = [StepBegins(self.time_s, self.coordinator, self.engine)]
        for step in self.engine.finish():
            events += self.coordinator.ended(step, self.time_s)
        return events


@dataclass(slots=True)
class Arrive:
    """A workflow comes."""

    rank: ClassVar[int] = 1
    time_s: float
    spec: WorkflowSpec
    coordinator: Coordinator

    def handle(self) -> Iterable[Event]:
        """See `Event.handle`."""
        return self.coordinator.arrive(self.spec, self.time_s)


@dataclass(slots=True)
class StepBegins:
    """An engine is free; last, so that all that come at this time are seen."""

    rank: ClassVar[int] = 2
    time_s: float
    coordinator: Coordinator
    engine: StepEngine

    def handle(self) -> Iterable[Event]:
        """See `Event.handle`."""
        if self.engine.running is not None:
            return []
        stretch = self.engine.begin(self.time_s)
        return [] if stretch is None else [StepEnds(stretch.end_s, self.coordinator, self.engine, stretch)]


def simulate(
    workflows: Sequence[WorkflowSpec], engines: Sequence[WorkflowEngineSpec], dispatch: DispatchPolicy,
    order: Callable[[], StepOrder], looks_up: bool = False, learner: StageLearner | None = None,
) -> WorkflowsOutcome:  # fmt: skip
    """Serve every workflow.

    Args:
        workflows: in any order of arrival.
        dispatch: chooses engines; one serves one run.
        order: gives each engine the order of its queue.
        looks_up: whether the router is told what engines hold of a prompt.
        learner: what is known of stages beforehand, which learns more; None: nothing.

    Raises:
        ValueError: a step fits no engine's memory, or there is no engine.
        RuntimeError: a workflow was not served.
    """
    coordinator = Coordinator(engines, dispatch, order, learner or StageLearner(), looks_up)
    EventHeap(Arrive(spec.arrival_s, spec, coordinator) for spec in workflows).run()
    if len(coordinator.outcome.served) != len(workflows):
        raise RuntimeError("some workflows were not served")
    return coordinator.outcome


def alone_s(workflow: WorkflowSpec, engines: Sequence[WorkflowEngineSpec]) -> float:
    """What a workflow takes alone by Eq. 2, in the mean of the engines; of each level the longest, once."""
    demands = [longest([_done(step).demand for step in level]) for level in workflow.levels]
    each = [sum([demand.seconds(engine.cost) for demand in demands]) for engine in engines]
    return sum(each) / len(each)
