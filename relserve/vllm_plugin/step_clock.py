"""The one clock of a scheduler: how long steps took, each from scheduling it to its outputs' way out."""

from __future__ import annotations

import time
from collections.abc import Mapping

from relserve.policies.model.work import MeasuredStep, Work
from relserve.vllm_plugin.host import HostRequest, StepOutput
from relserve.vllm_plugin.step_work import TypeOf, coarse_work_of, work_of


class StepClock:
    """Times steps: each from the end of the one before, so that all of it counts.

    Scheduling and the outputs' way out are time in which nothing else runs (measured: 8 to 10 % on a CPU).

    Args:
        type_of: see `work_of`.

    Attributes:
        since_s: when the latest step ended, or the engine got something to do again; by `time.monotonic`.
        latest: what the step computes that was scheduled last.
    """

    def __init__(self, type_of: TypeOf | None = None) -> None:
        self.since_s, self.latest = time.monotonic(), Work()
        self._type_of = type_of
        self._in_flight: dict[int, Work] = {}

    @property
    def num_in_flight(self) -> int:
        """Steps that were scheduled and have no result yet."""
        return len(self._in_flight)

    def rested(self) -> None:
        """The engine had nothing to do until now."""
        self.since_s = time.monotonic()

    def scheduled(
        self, output: StepOutput, requests: Mapping[str, HostRequest], looks_at_rows: bool = True
    ) -> None:
        """A step was scheduled that computes something.

        Args:
            looks_at_rows: whether its work is to be exact, which takes a look at each of its rows.
        """
        work = work_of(output, requests, self._type_of) if looks_at_rows else coarse_work_of(output)
        self.latest = self._in_flight[id(output)] = work

    def done(self, output: StepOutput) -> MeasuredStep | None:
        """A step's result is in: what it computed, and how long it took; None where that is nothing."""
        now_s = time.monotonic()
        work = self._in_flight.pop(id(output), None)
        seconds, self.since_s = now_s - self.since_s, now_s
        return None if work is None else MeasuredStep(work, seconds)
