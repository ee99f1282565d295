"""Serve requests on a simulated engine behind a controller; measure its speeds by load beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from lab.simulator.admission.engine import CurveEngineSpec, RunningJob, SimulatedCurveEngine
from relserve.policies.admission.controller import AdmissionController
from relserve.policies.admission.request import AdmissionRequest, AdmissionTurn, Admit, Wait
from relserve.policies.admission.scalability import SpeedSample

POLL_S = 0.02


class Spec(NamedTuple):
    """A request as it really is.

    Attributes:
        tokens: that the controller is told to expect.
        num_output: that it will say.
    """

    request_id: str
    slo_class: str
    arrival_s: float
    limit_s: float
    num_prompt: int
    num_output: int
    tokens: float
    user: str = "one"


@dataclass
class ServedRequest:
    """What became of a request; `ended_s` infinite where it was refused.

    Attributes:
        estimate_s: what it was told when it had to wait; None where it started at once or was refused.
    """

    spec: Spec
    started_s: float = inf
    ended_s: float = inf
    estimate_s: float | None = None
    refusal: str = ""

    @property
    def latency_s(self) -> float:
        """From its arrival to its end."""
        return self.ended_s - self.spec.arrival_s

    @property
    def is_good(self) -> bool:
        """Whether it ended within its limit."""
        return self.latency_s <= self.spec.limit_s


@dataclass
class AdmissionOutcome:
    """All requests in order of arrival, and how many ran at most."""

    served: list[ServedRequest] = field(default_factory=list)
    most_at_once: int = 0

    @property
    def goodput(self) -> float:
        """The share of requests that ended within their limit, percent (the paper's Goodput)."""
        return 100.0 * sum([served.is_good for served in self.served]) / max(len(self.served), 1)


def simulate(
    specs: Sequence[Spec],
    engine: CurveEngineSpec,
    controller: AdmissionController,
    seed: int = 0,
    poll_s: float | None = POLL_S,
) -> AdmissionOutcome:
    """Serve every request.

    Args:
        seed: of the engine's noise.
        poll_s: between two looks at those that wait, beside arrivals and ends; None where only these count.

    Raises:
        RuntimeError: requests wait, none runs, and the controller lets none in for an hour.
    """
    run = _Run(SimulatedCurveEngine(engine, seed), controller)
    upcoming = sorted(specs, key=lambda spec: spec.arrival_s, reverse=True)
    idle_since_s = 0.0
    while upcoming or run.engine.jobs or controller.waiting:
        while upcoming and upcoming[-1].arrival_s <= run.engine.now_s:
            run.comes(upcoming.pop())
        next_s = upcoming[-1].arrival_s if upcoming else inf
        now_s = run.engine.now_s
        if run.engine.jobs:
            idle_since_s = now_s
        elif controller.waiting and now_s - idle_since_s > 3600:
            raise RuntimeError(f"{controller.policy.name} lets none of {len(controller.waiting)} requests in")
        if controller.waiting and poll_s is not None:
            next_s = min(next_s, now_s + poll_s)
        elif controller.waiting and not run.engine.jobs:
            next_s = min(next_s, now_s + 1.0)
        elif poll_s is not None and run.engine.jobs:
            next_s = min(next_s, now_s + 10 * poll_s)  # speeds are measured while nobody waits, too
        ended = run.engine.advance(next_s)
        if poll_s is not None:
            run.tells()
        for job in ended:
            run.ends(job)
        if not ended:
            run.start(controller.poll(run.engine.now_s))
    return AdmissionOutcome(
        [run.served[spec.request_id] for spec in sorted(specs, key=_arrival)], run.most_at_once
    )


def _arrival(spec: Spec) -> float:
    return spec.arrival_s


class _Run:
    """The controller, the engine, and what has become of each request."""

    def __init__(self, engine: SimulatedCurveEngine, controller: AdmissionController) -> None:
        self.engine, self.controller = engine, controller
        self.served: dict[str, ServedRequest] = {}
        self.most_at_once = 0

    def comes(self, spec: Spec) -> None:
        self.served[spec.request_id] = ServedRequest(spec)
        deadline_s = spec.arrival_s + spec.limit_s
        request = AdmissionRequest(
            spec.request_id, spec.slo_class, spec.user, spec.arrival_s, deadline_s, spec.tokens
        )
        decision = self.controller.offered(request, self.engine.now_s)
        if isinstance(decision, Admit):
            self._starts(spec.request_id)
        elif isinstance(decision, Wait):
            self.served[spec.request_id].estimate_s = decision.estimate_s
        else:
            self.served[spec.request_id].refusal = decision.reason

    def start(self, turn: AdmissionTurn) -> None:
        for request in turn.started:
            self._starts(request.request_id)
        for request, refusal in turn.refused:
            self.served[request.request_id].refusal = refusal.reason

    def _starts(self, request_id: str) -> None:
        served = self.served[request_id]
        served.started_s = self.engine.now_s
        self.engine.start(request_id, served.spec.num_prompt, served.spec.num_output)
        self.most_at_once = max(self.most_at_once, self.engine.load)

    def ends(self, job: RunningJob) -> None:
        self.served[job.request_id].ended_s = self.engine.now_s
        self.start(self.controller.done(job.request_id, self.engine.now_s, job.num_output))

    def tells(self) -> None:
        output_tokens = {request_id: self.engine.generated(request_id) for request_id in self.engine.jobs}
        self.controller.progress(output_tokens, self.engine.now_s)


class ProfiledRequest(NamedTuple):
    """A request of the profiling phase.

    Attributes:
        load: the mean of those inside while it was.
        seconds: that it was inside.
        answer_share: of that time, from the first token on, as it would be at one speed.
    """

    spec: Spec
    load: float
    seconds: float
    answer_share: float

    @property
    def sample(self) -> SpeedSample:
        """The paper's pair: load, tokens generated over execution time."""
        return SpeedSample(self.load, self.spec.num_output / self.seconds)

    @property
    def decoding(self) -> SpeedSample:
        """The same from its first token on."""
        return SpeedSample(self.load, self.spec.num_output / (self.seconds * self.answer_share))


def profile(
    specs: Sequence[Spec], engine: CurveEngineSpec, loads: Sequence[int], seed: int = 0
) -> list[ProfiledRequest]:
    """SABER's offline phase: at each load, so many requests inside at all times."""
    measured: list[ProfiledRequest] = []
    share = len(specs) // len(loads)
    for number, load in enumerate(loads):
        running, coming = (
            SimulatedCurveEngine(engine, seed + number),
            list(specs[number * share : (number + 1) * share]),
        )
        inside: dict[str, Spec] = {}
        while coming or inside:
            while coming and len(inside) < load:
                spec = coming.pop()
                inside[spec.request_id] = spec
                running.start(spec.request_id, spec.num_prompt, spec.num_output)
            for job in running.advance(inf):
                seconds = running.now_s - job.admitted_s
                share_s = job.num_output / (job.ends_at - job.begun_at)
                measured.append(
                    ProfiledRequest(inside.pop(job.request_id), job.load_s / seconds, seconds, share_s)
                )
    return measured
