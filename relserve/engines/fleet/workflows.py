"""A router that tunes itself is told of the workflows whose steps a fleet answers, and is tuned meanwhile."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from relserve.call.relquery import Reply, Submission
from relserve.errors import FailureKind
from relserve.policies.dispatch.policy import TunedPolicy
from relserve.policies.dispatch.router import Router
from relserve.policies.workflows.following import FollowedWorkflow, WorkflowFollower
from relserve.policies.workflows.stages import DoneStep, PastWorkflow


class FleetWorkflows:
    """The workflows of a fleet's relQueries; nothing is followed where the router does not tune itself.

    Every row is a step, beside the other rows of its relQuery: each goes to a member of its own. A workflow
    that a client broke off before its deadline teaches nothing. All methods run on the engine loop, and
    tuning on a thread.

    Args:
        clock: seconds, as the router is told them.
        announce: told what was tuned, in a line.
    """

    def __init__(self, router: Router, clock: Callable[[], float], announce: Callable[[str], None]) -> None:
        policy = router.policy
        self._policy = policy if isinstance(policy, TunedPolicy) else None
        self._router, self._clock, self._announce = router, clock, announce
        self._follower = WorkflowFollower(self._ended)
        self._numbers = itertools.count(1)
        self._tuning: asyncio.Task[None] | None = None

    @contextmanager
    def step(self, submission: Submission) -> Iterator[Callable[[Sequence[Reply]], None]]:
        """While a relQuery is answered; gives what is to be told of its replies."""
        if self._policy is None or submission.workflow_id is None:
            yield lambda replies: None
            return
        name, stage = f"{submission.rel_id} {next(self._numbers)}", submission.stage or ""
        replies: list[Reply] = []
        began_s = self._clock()
        self._follower.end_idle(began_s)
        self._follower.came(submission.workflow_id, name, began_s, began_s)
        try:
            yield replies.extend
        finally:
            done = [_done(stage, reply) for reply in replies if reply.failure is None]
            failures = [reply.failure.kind for reply in replies if reply.failure is not None]
            is_late = FailureKind.DEADLINE in failures
            is_done = len(replies) == len(submission.prompts) and not is_late
            self._follower.step_ended(name, done, self._clock(), is_done, is_late)

    def _ended(self, workflow: FollowedWorkflow) -> None:
        policy, now_s = self._policy, self._clock()
        assert policy is not None
        policy.arrived(PastWorkflow(workflow.arrival_s, workflow.levels), now_s)
        tune = policy.ended(workflow.latest_s - workflow.arrival_s, now_s, self._router.members)
        if tune is not None and (self._tuning is None or self._tuning.done()):
            self._tuning = asyncio.ensure_future(self._tune(policy, tune))

    async def _tune(self, policy: TunedPolicy, tune: Callable[[], float]) -> None:
        value = await asyncio.to_thread(tune)
        policy.take(value, self._clock())
        self._announce(f"{policy.name} is tuned to {value:g}")

    def close(self) -> None:
        """Nothing that is tuned now is taken any more."""
        if self._tuning is not None:
            self._tuning.cancel()


def _done(stage: str, reply: Reply) -> DoneStep:
    usage = reply.usage
    return DoneStep(stage, float(usage.prompt_tokens), float(usage.output_tokens))
