"""An engine by its curve: all requests that run get tokens at one speed, which falls with their number."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

import numpy as np

from relserve.policies.admission.scalability import Fit


class SpeedChange(NamedTuple):
    """From `at_s` on the engine runs `factor` times as fast as its curve says."""

    at_s: float
    factor: float


@dataclass(frozen=True)
class CurveEngineSpec:
    """What an engine does.

    Attributes:
        curve: how fast a request gets its tokens by how many run. Its speeds are read, and not the seconds of
            its steps: their inverse differs in the last digit, and what a controller learns goes by that.
        fixed_tokens: what a request costs before its first token, in tokens of an answer.
        prompt_share: what a token of its prompt costs, the same way.
        noise: standard deviation of the logarithm of its speed from one `noise_s` to the next.
        changes: lasting changes of its speed, in order of time.
    """

    curve: Fit
    fixed_tokens: float = 0.0
    prompt_share: float = 0.01
    noise: float = 0.05
    noise_s: float = 0.5
    changes: tuple[SpeedChange, ...] = ()


@dataclass(slots=True)
class RunningJob:
    """A request inside the engine.

    Attributes:
        ends_at: the engine's counter of tokens at which it ends.
        begun_at: the counter when it came in.
        load_s: integral of the load over the time that it has run, in requests times seconds, as of its
            start; at its end, the integral over its own time.
    """

    request_id: str
    num_prompt: int
    num_output: int
    admitted_s: float
    begun_at: float
    ends_at: float
    load_s: float


@dataclass
class SimulatedCurveEngine:
    """Runs what it is given; decides nothing. `now_s` goes forward by `advance` alone."""

    spec: CurveEngineSpec
    seed: int = 0
    now_s: float = 0.0
    jobs: dict[str, RunningJob] = field(default_factory=dict)
    _counter: float = 0.0
    _load_s: float = 0.0
    _ends: list[tuple[float, int, str]] = field(default_factory=list)
    _count: int = 0
    _noisy_until_s: float = 0.0
    _noise: float = 1.0

    def __post_init__(self) -> None:
        self._random = np.random.default_rng([7, self.seed])

    @property
    def load(self) -> int:
        """Requests that run."""
        return len(self.jobs)

    def start(self, request_id: str, num_prompt: int, num_output: int) -> None:
        """A request begins to run."""
        work = num_output + self._before(num_prompt)
        job = RunningJob(
            request_id, num_prompt, num_output, self.now_s, self._counter, self._counter + work, self._load_s
        )
        self.jobs[request_id] = job
        self._count += 1
        heapq.heappush(self._ends, (job.ends_at, self._count, request_id))

    def generated(self, request_id: str) -> float:
        """Tokens that a request has generated, its prompt counted first."""
        job = self.jobs[request_id]
        done = self._counter - job.begun_at - self._before(job.num_prompt)
        return min(max(done, 0.0), float(job.num_output))

    def next_end_s(self) -> float:
        """When the next request would end, were the speed to stay; infinite where none runs."""
        if not self._ends:
            return inf
        return self.now_s + max(self._ends[0][0] - self._counter, 0.0) / self._speed()

    def next_change_s(self) -> float:
        """Until when the speed is known to stay as it is, but for loads that change."""
        if not self.spec.changes:
            return self._noisy_until_s if self.spec.noise else inf
        coming = [change.at_s for change in self.spec.changes if change.at_s > self.now_s]
        return min([self._noisy_until_s, *coming[:1]]) if self.spec.noise else min(coming, default=inf)

    def advance(self, until_s: float) -> list[RunningJob]:
        """Let time pass until then, at most until somebody ends; those that end."""
        ended: list[RunningJob] = []
        while self.now_s < until_s and not ended:
            self._renew()
            end_s, change_s = self.next_end_s(), self.next_change_s()
            to_s = min(until_s, end_s, change_s)
            passed = to_s - self.now_s
            self._counter += passed * self._speed() if self.jobs else 0.0
            self._load_s += passed * self.load
            self.now_s = to_s
            if end_s <= to_s:
                self._counter = max(self._counter, self._ends[0][0])
                while self._ends and self._ends[0][0] <= self._counter + 1e-9:
                    job = self.jobs.pop(heapq.heappop(self._ends)[2])
                    job.load_s = self._load_s - job.load_s
                    ended.append(job)
        return ended

    def _before(self, num_prompt: int) -> float:
        return self.spec.fixed_tokens + self.spec.prompt_share * num_prompt

    def _speed(self) -> float:
        factor = 1.0
        for change in self.spec.changes:
            if change.at_s <= self.now_s:
                factor = change.factor
        return self.spec.curve.speed(self.load) * factor * self._noise

    def _renew(self) -> None:
        if self.spec.noise and self.now_s >= self._noisy_until_s:
            self._noise = float(np.exp(self._random.normal(0.0, self.spec.noise)))
            self._noisy_until_s = self.now_s + self.spec.noise_s
