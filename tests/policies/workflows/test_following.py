"""When a workflow has ended, of which nobody says so."""

from __future__ import annotations

from relserve.policies.workflows.following import IDLE_S, FollowedWorkflow, WorkflowFollower


def test_a_workflow_has_ended_when_nothing_of_it_came_for_long() -> None:
    ended: list[FollowedWorkflow] = []
    follower = WorkflowFollower(ended.append)
    follower.came("a", "a1", arrival_s=1.0, now_s=1.0)
    follower.end_idle(10 * IDLE_S)
    assert ended == [], "a step of it is not done"
    follower.step_ended("a1", [], now_s=2.0)
    follower.end_idle(2.0 + IDLE_S)
    assert ended == [], "it may go on until then"
    follower.came("a", "a2", arrival_s=9.0, now_s=2.0 + IDLE_S)
    assert (follower.name_of("a2"), follower.arrival_s("a")) == ("a", 1.0)
    follower.step_ended("a2", [], now_s=50.0)
    follower.end_idle(50.5 + IDLE_S)
    assert [each.arrival_s for each in ended] == [1.0]
    assert [len(each.levels) for each in ended] == [2]


def test_of_a_workflow_that_was_broken_off_nothing_is_told() -> None:
    ended: list[FollowedWorkflow] = []
    follower = WorkflowFollower(ended.append)
    for name, is_late in (("cancelled", False), ("late", True)):
        follower.came(name, name, arrival_s=0.0, now_s=0.0)
        follower.step_ended(name, [], now_s=1.0, is_done=False, is_late=is_late)
    follower.end_idle(2 + IDLE_S)
    assert [each.is_late for each in ended] == [True]
