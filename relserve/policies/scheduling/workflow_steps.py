"""The workflows that an engine's relQueries are steps of: which step is which, and what comes after it."""

from __future__ import annotations

from math import isnan

from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.book import RelBook
from relserve.policies.scheduling.priority import alone_s
from relserve.policies.scheduling.state import RelState, StepView
from relserve.policies.workflows.following import FollowedWorkflow, WorkflowFollower
from relserve.policies.workflows.stages import DoneStep, StageLearner
from relserve.policies.workflows.types import QueuedStep


class WorkflowSteps:
    """Follows workflows from step to step, and learns from those that ended.

    A workflow that its client broke off at its deadline teaches what it took until then, as the least that it
    would have taken; one that was broken off before teaches nothing.

    Attributes:
        learner: what is known of stages.
        with_deadline: the unfinished relQueries that have one, by id.
    """

    def __init__(self) -> None:
        self.learner = StageLearner()
        self.with_deadline: dict[str, RelState] = {}
        self._states: dict[str, RelState] = {}  # of unfinished steps, by relQuery
        self._follower = WorkflowFollower(self._ended)

    def take(self, view: StepView) -> None:
        """Note who came and who left; to be called once with every view."""
        for rel_id in view.gone:
            self._step_ended(rel_id, view.now_s, is_done=rel_id not in view.cancelled)
        for state in view.changed:
            if state.deadline_s is not None and not isnan(state.deadline_s):
                self.with_deadline[state.rel_id] = state
            if state.workflow_id is not None and self._follower.name_of(state.rel_id) is None:
                self._states[state.rel_id] = state
                self._follower.came(state.workflow_id, state.rel_id, state.arrival_s, view.now_s)
        self._follower.end_idle(view.now_s)

    def step(self, state: RelState, book: RelBook, cost: CostModel) -> QueuedStep:
        """A relQuery as a step of its workflow; one of no workflow is a workflow of its own.

        Args:
            book: has taken the view, and its priority has put down its estimates.
        """
        work_s = alone_s(book)[book.slot_of[state.rel_id]]
        name = self._follower.name_of(state.rel_id)
        if name is None:
            alone = (state.rel_id, "", state.arrival_s, state.arrival_s)
            return QueuedStep(*alone, state.deadline_s, work_s, work_s)
        return QueuedStep(
            name, state.stage or "", state.arrival_s, self._follower.arrival_s(name), state.deadline_s,
            work_s, work_s + self.after_s(state, cost),
        )  # fmt: skip

    def after_s(self, state: RelState, cost: CostModel) -> float:
        """What its workflow is taken to need after this step, in seconds, alone; 0 where it has none."""
        if state.workflow_id is None:
            return 0.0
        return self.learner.after(state.stage or "").seconds(cost)

    def is_step(self, state: RelState) -> bool:
        """Whether it is a step of a workflow."""
        return self._follower.name_of(state.rel_id) is not None

    def begun_s(self, state: RelState) -> float:
        """When its workflow came, or itself where it has none."""
        name = self._follower.name_of(state.rel_id)
        return state.arrival_s if name is None else self._follower.arrival_s(name)

    def _step_ended(self, rel_id: str, now_s: float, is_done: bool) -> None:
        self.with_deadline.pop(rel_id, None)
        if self._follower.name_of(rel_id) is None:
            self._states.pop(rel_id, None)
            return
        state = self._states.pop(rel_id)
        is_late = not is_done and state.deadline_s is not None and now_s >= state.deadline_s
        done = []
        if is_done or is_late:
            expected = state.row_output
            output = max(state.most_output, expected) if is_late else state.most_output or expected
            done.append(DoneStep(state.stage or "", float(state.arrived_tokens), float(output)))
            self.learner.ended(done[0])
        self._follower.step_ended(rel_id, done, now_s, is_done, is_late)

    def _ended(self, workflow: FollowedWorkflow) -> None:
        self.learner.workflow_ended(workflow.levels, workflow.is_whole)
