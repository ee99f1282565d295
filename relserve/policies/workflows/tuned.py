"""The published dispatcher with its alpha tuned while it serves (HexGen-Text2SQL, 4.3)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from statistics import fmean

from relserve.policies.workflows.dispatch import EngineState, WorkloadBalanced
from relserve.policies.workflows.replay import PastWorkflow, replay
from relserve.policies.workflows.tuning import TuningClock, best_alpha


class TunedBalanced(WorkloadBalanced):
    """Alpha begins at 0, and is chosen anew by replaying the workflows that came in the latest window.

    Attributes:
        alphas: all that were chosen, with the time of each.
    """

    def __init__(self, clock: TuningClock | None = None) -> None:
        super().__init__(alpha=0.0)
        self.alphas: list[tuple[float, float]] = []
        self._clock = clock or TuningClock()
        self._past: deque[PastWorkflow] = deque()

    def arrived(self, workflow: PastWorkflow) -> None:
        """A workflow has come; its steps count as they turn out, or as they are expected."""
        self._past.append(workflow)

    def ended(self, latency_s: float, now_s: float, engines: Sequence[EngineState]) -> None:
        """A workflow has ended; tunes where it is time to."""
        self._clock.ended(latency_s)
        while len(self._past) > 1 and self._past[0].arrival_s < now_s - self._clock.window_s:
            self._past.popleft()
        if not self._clock.is_due(now_s):
            return
        past = list(self._past)
        self.alpha = best_alpha(
            lambda alpha: fmean(replay(past, engines, WorkloadBalanced(alpha, self.beta)))
        )
        self.alphas.append((now_s, self.alpha))
