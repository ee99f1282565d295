"""Follows workflows from step to step, for whoever is told of their steps alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from relserve.policies.workflows.stages import DoneStep

IDLE_S = 30.0  # a workflow of which nothing has come for so long has ended
MOST = 4096  # workflows remembered


@dataclass
class FollowedWorkflow:
    """What is known of a workflow.

    Attributes:
        arrival_s: when its first step came.
        levels: its steps that ended; those that ran side by side together.
        here: its unfinished steps.
        latest_s: when a step of it came or ended last.
        is_whole: whether all its steps ended by themselves.
        is_late: whether it was broken off because its deadline had passed.
    """

    arrival_s: float
    levels: list[list[DoneStep]] = field(default_factory=list)
    here: set[str] = field(default_factory=set)
    latest_s: float = 0.0
    is_whole: bool = True
    is_late: bool = False


class WorkflowFollower:
    """The workflows of which steps have come.

    Nobody says that a workflow has ended: it has where nothing more of it comes for `IDLE_S`. One that its
    client broke off before its deadline tells nothing.

    Args:
        ended: told of each other workflow that has ended.
    """

    def __init__(self, ended: Callable[[FollowedWorkflow], None]) -> None:
        self._ended = ended
        self._workflows: dict[str, FollowedWorkflow] = {}
        self._idle: dict[str, FollowedWorkflow] = {}
        self._name_of: dict[str, str] = {}  # of the workflow, by step

    def name_of(self, step: str) -> str | None:
        """The workflow of an unfinished step; None where it is none."""
        return self._name_of.get(step)

    def arrival_s(self, name: str) -> float:
        """When the first step of a workflow came that has an unfinished one."""
        return self._workflows[name].arrival_s

    def came(self, name: str, step: str, arrival_s: float, now_s: float) -> None:
        """A step of a workflow has come.

        Args:
            step: names it among the unfinished steps of all workflows.
            arrival_s: of the workflow, if this is its first step.
        """
        workflow = self._idle.pop(name, None) or self._workflows.get(name)
        if workflow is None:
            if len(self._workflows) >= MOST:  # the one that has been idle for longest, else of the oldest
                self._end(next(iter(self._idle or self._workflows)))
            workflow = self._workflows[name] = FollowedWorkflow(arrival_s)
        if not workflow.here:
            workflow.levels.append([])
        workflow.here.add(step)
        workflow.latest_s = now_s
        self._name_of[step] = name

    def step_ended(
        self, step: str, done: Sequence[DoneStep], now_s: float, is_done: bool = True, is_late: bool = False
    ) -> None:
        """A step has ended, or was broken off; one that is not known counts for nothing.

        Args:
            done: what it has asked and answered, in requests side by side.
            is_done: whether it has ended by itself.
            is_late: whether it was broken off because its deadline had passed.
        """
        name = self._name_of.pop(step, None)
        if name is None:
            return
        workflow = self._workflows[name]
        workflow.here.remove(step)
        workflow.latest_s = now_s
        workflow.is_whole &= is_done
        workflow.is_late |= is_late
        workflow.levels[-1].extend(done)
        if not workflow.here:
            self._idle[name] = workflow

    def end_idle(self, now_s: float) -> None:
        """End the workflows of which nothing has come for long."""
        while self._idle:
            name, workflow = next(iter(self._idle.items()))
            if now_s - workflow.latest_s <= IDLE_S:
                return
            self._end(name)

    def _end(self, name: str) -> None:
        workflow = self._workflows.pop(name)
        self._idle.pop(name, None)
        for step in workflow.here:
            del self._name_of[step]
        if (workflow.is_whole or workflow.is_late) and not workflow.here:
            self._ended(workflow)
