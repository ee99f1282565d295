"""The published dispatcher with its alpha tuned while it serves (HexGen-Text2SQL, 4.3)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from statistics import fmean

from relserve.policies.dispatch.hexgen.balanced import WorkloadBalanced
from relserve.policies.dispatch.hexgen.replay import replay
from relserve.policies.dispatch.hexgen.tuning import WINDOW_S, TuningClock, best_alpha
from relserve.policies.dispatch.member_table import MemberTable
from relserve.policies.workflows.stages import PastWorkflow

MOST_STEPS = 10_000  # of the workflows that are replayed: a pass over them takes half a second


class TunedBalanced(WorkloadBalanced):
    """Alpha begins at 0, and is chosen anew by replaying the workflows that came in the latest window.

    Attributes:
        alphas: all that were chosen, with the time of each.
    """

    def __init__(self, name: str = "hexgen_tuned") -> None:
        super().__init__(name, alpha=0.0)
        self.alphas: list[tuple[float, float]] = []
        self._clock = TuningClock()
        self._past: deque[tuple[float, PastWorkflow]] = deque()  # with the time at which each was told
        self._num_steps = 0

    def arrived(self, workflow: PastWorkflow, now_s: float) -> None:
        """See `TunedPolicy.arrived`."""
        self._past.append((now_s, workflow))
        self._num_steps += _num_steps(workflow)
        while len(self._past) > 1 and self._num_steps > MOST_STEPS:
            self._forget()

    def ended(self, latency_s: float, now_s: float, members: MemberTable) -> Callable[[], float] | None:
        """See `TunedPolicy.ended`."""
        self._clock.ended(latency_s)
        while len(self._past) > 1 and self._past[0][0] < now_s - WINDOW_S:
            self._forget()
        if not (self._past and len(members) and self._clock.is_due(now_s)):
            return None
        past, beta, emptied = [workflow for _, workflow in self._past], self.beta, members.emptied()
        return lambda: best_alpha(
            lambda alpha: fmean(replay(past, emptied, WorkloadBalanced(alpha=alpha, beta=beta)))
        )

    def take(self, alpha: float, now_s: float) -> None:
        """See `TunedPolicy.take`."""
        self.alpha = alpha
        self.alphas.append((now_s, alpha))

    def _forget(self) -> None:
        self._num_steps -= _num_steps(self._past.popleft()[1])


def _num_steps(workflow: PastWorkflow) -> int:
    return sum(map(len, workflow.levels))
