"""How long each step took, from scheduling it to the end of its outputs' way."""

from __future__ import annotations

import time

from relserve.policies.cost import StepFeatures
from relserve.vllm_plugin.host import StepOutput


class StepClock:
    """Times steps: each from the end of the one before, so that all of it counts.

    Scheduling and the outputs' way out are time in which nothing else runs (measured: 8 to 10 % on a CPU).
    """

    def __init__(self) -> None:
        self._busy_since_s = 0.0
        self._in_flight: dict[int, StepFeatures] = {}

    def rested(self) -> None:
        """The engine had nothing to do until now."""
        self._busy_since_s = time.perf_counter()

    def scheduled(self, output: StepOutput, features: StepFeatures) -> None:
        """A step was scheduled that computes this."""
        self._in_flight[id(output)] = features

    def done(self, output: StepOutput) -> tuple[StepFeatures, float] | None:
        """A step's result is in: what it computed, and seconds; None for one that computed nothing."""
        now_s = time.perf_counter()
        features = self._in_flight.pop(id(output), None)
        seconds, self._busy_since_s = now_s - self._busy_since_s, now_s
        return None if features is None else (features, seconds)
