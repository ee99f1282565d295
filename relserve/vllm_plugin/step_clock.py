"""How long each step took, from scheduling it to the end of its outputs' way."""

from __future__ import annotations

import time
from collections.abc import Mapping

from relserve.policies.cost import StepFeatures, StepSample
from relserve.vllm_plugin.host import HostRequest, StepOutput
from relserve.vllm_plugin.step_features import step_features


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

    def scheduled(self, output: StepOutput, requests: Mapping[str, HostRequest]) -> None:
        """A step was scheduled that computes something."""
        self._in_flight[id(output)] = step_features(output, requests)

    def done(self, output: StepOutput) -> StepSample | None:
        """A step's result is in: what it computed, and how long it took; None where that is nothing."""
        now_s = time.perf_counter()
        features = self._in_flight.pop(id(output), None)
        seconds, self._busy_since_s = now_s - self._busy_since_s, now_s
        return None if features is None else StepSample(*features, seconds)
