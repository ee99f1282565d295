"""The workflows that an engine's relQueries are steps of: which step is which, and what comes after it."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isnan

from relserve.policies.cost import CostModel
from relserve.policies.scheduling.book import RelBook
from relserve.policies.scheduling.priority import alone_s
from relserve.policies.scheduling.state import RelState, StepView
from relserve.policies.workflows.stages import DoneStep, StageLearner
from relserve.policies.workflows.types import QueuedStep

IDLE_S = 30.0  # a workflow of which nothing has come for so long has ended
MOST = 4096  # workflows remembered


@dataclass
class _Workflow:
    """What is known of one.

    Attributes:
        arrival_s: when its first step came.
        levels: its steps that ended; those that ran side by side together.
        here: its unfinished steps by relQuery.
        is_whole: whether all its steps ended by themselves.
        is_late: whether it was broken off because its deadline had passed.
    """

    arrival_s: float
    levels: list[list[DoneStep]] = field(default_factory=list)
    here: dict[str, RelState] = field(default_factory=dict)
    latest_s: float = 0.0
    is_whole: bool = True
    is_late: bool = False


class WorkflowSteps:
    """Follows workflows from step to step, and learns from those that ended.

    No engine is told that a workflow has ended: it has where nothing more of it comes. One that its client
    broke off at its deadline teaches what it took until then, as the least that it would have taken; one that
    was broken off before teaches nothing.

    Attributes:
        learner: what is known of stages.
        with_deadline: the unfinished relQueries that have one, by id.
    """

    def __init__(self) -> None:
        self.learner = StageLearner()
        self.with_deadline: dict[str, RelState] = {}
        self._workflows: dict[str, _Workflow] = {}
        self._idle: dict[str, _Workflow] = {}
        self._name_of: dict[str, str] = {}  # of the workflow, by relQuery

    def take(self, view: StepView) -> None:
        """Note who came and who left; to be called once with every view."""
        for rel_id in view.gone:
            self._left(rel_id, view.now_s, is_done=rel_id not in view.cancelled)
        for state in view.changed:
            if state.deadline_s is not None and not isnan(state.deadline_s):
                self.with_deadline[state.rel_id] = state
            if state.workflow_id is not None and state.rel_id not in self._name_of:
                self._came(state, state.workflow_id, view.now_s)
        self._end_idle(view.now_s)

    def step(self, state: RelState, book: RelBook, cost: CostModel) -> QueuedStep:
        """A relQuery as a step of its workflow; one of no workflow is a workflow of its own.

        Args:
            book: has taken the view, and its priority has put down its estimates.
        """
        work_s = alone_s(book)[book.slot_of[state.rel_id]]
        name = self._name_of.get(state.rel_id)
        if name is None:
            alone = (state.rel_id, "", state.arrival_s, state.arrival_s)
            return QueuedStep(*alone, state.deadline_s, work_s, work_s)
        return QueuedStep(
            name, state.stage or "", state.arrival_s, self._workflows[name].arrival_s, state.deadline_s,
            work_s, work_s + self.after_s(state, cost),
        )  # fmt: skip

    def after_s(self, state: RelState, cost: CostModel) -> float:
        """What its workflow is taken to need after this step, in seconds, alone; 0 where it has none."""
        if state.workflow_id is None:
            return 0.0
        return self.learner.after(state.stage or "").seconds(cost)

    def is_step(self, state: RelState) -> bool:
        """Whether it is a step of a workflow."""
        return state.rel_id in self._name_of

    def begun_s(self, state: RelState) -> float:
        """When its workflow came, or itself where it has none."""
        name = self._name_of.get(state.rel_id)
        return state.arrival_s if name is None else self._workflows[name].arrival_s

    def _came(self, state: RelState, name: str, now_s: float) -> None:
        workflow = self._idle.pop(name, None) or self._workflows.get(name)
        if workflow is None:
            if len(self._workflows) >= MOST:  # the one that has been idle for longest, else of the oldest
                self._end(next(iter(self._idle or self._workflows)))
            workflow = self._workflows[name] = _Workflow(state.arrival_s)
        if not workflow.here:
            workflow.levels.append([])
        workflow.here[state.rel_id] = state
        workflow.latest_s = now_s
        self._name_of[state.rel_id] = name

    def _left(self, rel_id: str, now_s: float, is_done: bool) -> None:
        self.with_deadline.pop(rel_id, None)
        name = self._name_of.pop(rel_id, None)
        if name is None:
            return
        workflow = self._workflows[name]
        state = workflow.here.pop(rel_id)
        workflow.latest_s = now_s
        is_late = not is_done and state.deadline_s is not None and now_s >= state.deadline_s
        workflow.is_whole &= is_done
        workflow.is_late |= is_late
        if is_done or is_late:
            expected = state.row_output
            output = max(state.most_output, expected) if is_late else state.most_output or expected
            done = DoneStep(state.stage or "", float(state.arrived_tokens), float(output))
            workflow.levels[-1].append(done)
            self.learner.ended(done)
        if not workflow.here:
            self._idle[name] = workflow

    def _end_idle(self, now_s: float) -> None:
        while self._idle:
            name, workflow = next(iter(self._idle.items()))
            if now_s - workflow.latest_s <= IDLE_S:
                return
            self._end(name)

    def _end(self, name: str) -> None:
        workflow = self._workflows.pop(name)
        self._idle.pop(name, None)
        for rel_id in workflow.here:
            del self._name_of[rel_id]
        if (workflow.is_whole or workflow.is_late) and not workflow.here:
            self.learner.workflow_ended(workflow.levels, workflow.is_whole)
