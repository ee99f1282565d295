"""The runs of `admission`: SABER's Table I and mixes, the engine fitted to its static numbers, the systems.

The engine's constants are no measurement: five numbers (its speed alone, the law's two, what a request costs
before its first token with its share by prompt) and the spread of lengths were searched so that static limits
give what the paper prints of them: the mean completion times of Table I at 10 requests a second, the best
static goodput of W1 and W2 at 20 and of W3 at 10, and the mean ratio to the limits of W1 at 1. None of
SABER's own numbers went into the search. Lengths are lognormal with Table I's means; the paper gives no more.
"""

from __future__ import annotations

import math
import statistics
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np

from lab.simulator.admission.engine import CurveEngineSpec, SpeedChange
from lab.simulator.admission.run import AdmissionOutcome, ProfiledRequest, Spec, profile, simulate
from relserve.policies.admission.controller import AdmissionController
from relserve.policies.admission.online import OnlineCurve
from relserve.policies.admission.request import AdmissionRequest
from relserve.policies.admission.saber import DELTA_S
from relserve.policies.admission.scalability import Fit, Kind, SpeedSample, fit
from relserve.policies.admission.static import LIMITS
from relserve.policies.admission.variants import make

LOADS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20)  # requests a second
SPREAD = 0.38  # standard deviation of lengths over their mean
CURVE = Fit("usl", (107.0, 0.0213, 8.3e-5), r2=1.0, num_samples=0)
ENGINE = CurveEngineSpec(CURVE, fixed_tokens=17.0, prompt_share=0.11, noise=0.05)
PROFILED = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 100)  # loads of the offline phase, 100 requests each
POLLS_S = {"saber": DELTA_S, "ours": 0.25}  # between looks at who waits, beside arrivals and ends


class Task(NamedTuple):
    """A row of Table I: mean tokens of prompt and answer, seconds."""

    num_prompt: int
    num_output: int
    limit_s: float


TASKS = {
    "qna": Task(186, 43, 1.0), "generation": Task(463, 387, 8.0),
    "summary": Task(31, 30, 1.0), "translation": Task(670, 617, 12.0),
}  # fmt: skip
MIXES = {"W1": (0.1, 0.4, 0.1, 0.4), "W2": (0.4, 0.1, 0.4, 0.1), "W3": (0.25, 0.25, 0.25, 0.25)}

# What the paper says in its text; of Figures 1, 3 and 5 no more numbers are to be had.
BEST_LIMIT = {"W1": 30, "W2": 70, "W3": 80}
GOODPUT = {("W1", 20): (28, 36), ("W2", 20): (56, 63), ("W3", 10): (56, 74)}  # best static, SABER
SWEEP_GAIN = {"W1": 10.2, "W2": 1.2, "W3": 4.3}
GAIN_AT_20 = {"W1": 8.0, "W2": 7.0, "W3": 26.0}
CV = {"W1": (52.4, 33.7), "W2": (17.5, 20.8), "W3": (36.4, 25.1)}  # baseline, SABER; W2's order is not clear
R2: dict[Kind, float] = {"usl": 0.99, "logistic": 0.97, "linear": 0.91}
W2_GAIN: dict[Kind, float] = {"usl": 1.2, "logistic": -5.3, "linear": -6.7}


class AdmissionCell(NamedTuple):
    """A run: the mix, requests a second, how many, and the system."""

    mix: str
    rate: float
    system: str
    num_requests: int = 100
    engine: str = "steady"


class AdmissionResult(NamedTuple):
    """Means over seeds: goodput (percent), latency over limit, relative error of estimates (median)."""

    goodput: float
    ratio: float
    estimate_error: float
    by_seed: tuple[float, ...]


ENGINES = {
    "steady": ENGINE,
    "erratic": replace(ENGINE, noise=1.0, noise_s=2.0),  # others use the machine: load tells little
    "tenth": replace(ENGINE, changes=(SpeedChange(30.0, 0.1), SpeedChange(150.0, 1.0))),
}
STATIC = tuple(f"static {limit}" for limit in LIMITS)
PUBLISHED: dict[str, tuple[Kind, bool]] = {
    "SABER": ("usl", True), "SABER logistic": ("logistic", True), "SABER linear": ("linear", True),
    "SABER by request": ("usl", False),
}  # fmt: skip
SYSTEMS = (*STATIC, *PUBLISHED, "ours")


def requests(mix: str, rate: float, seed: int, number: int = 100, kind: str = "run") -> list[Spec]:
    """Poisson arrivals; the same requests at every rate. The controller is told Table I's mean."""
    random = np.random.default_rng([zlib.crc32(f"{kind} {mix}".encode()), seed])
    arrivals = np.cumsum(random.exponential(1.0, number)) / rate
    names = random.choice(len(TASKS), number, p=MIXES[mix])
    sigma = math.sqrt(math.log(1 + SPREAD**2))
    factors = np.exp(random.normal(-(sigma**2) / 2, sigma, number))
    specs = []
    for i, (at_s, row, factor) in enumerate(zip(arrivals, names, factors, strict=True)):
        name, task = list(TASKS.items())[row]
        length = max(1, round(task.num_output * factor))
        specs.append(
            Spec(f"{kind}{i}", name, float(at_s), task.limit_s, task.num_prompt, length, task.num_output)
        )
    return specs


@cache
def profiled() -> tuple[ProfiledRequest, ...]:
    """The offline phase, some 1,100 requests of W3's mix."""
    specs = requests("W3", 1.0, 0, 100 * len(PROFILED), "profile")
    return tuple(profile(specs, ENGINE, PROFILED))


def samples(from_first_token: bool) -> list[SpeedSample]:
    """Load and speed of the profiled requests: counted from the first token on, or from the start.

    The paper divides generated tokens by execution time. Counted from the start, short requests look slow,
    for their prompt takes long, and no curve by load explains more than 60 % of it; the paper's R2 of 0.99,
    0.97 and 0.91 for the three forms appear counted from the first token on.
    """
    return [m.decoding if from_first_token else m.sample for m in profiled()]


@cache
def fitted(kind: Kind, from_first_token: bool = True) -> Fit:
    """A curve of the offline phase."""
    return fit(samples(from_first_token), kind)


def controller_of(system: str, seed: int) -> tuple[AdmissionController, float | None]:
    """A fresh controller, and the seconds between its polls.

    Raises:
        ValueError: no such system.
    """
    if system.startswith("static "):
        return AdmissionController(make(system.replace(" ", "-"))), None
    if system in PUBLISHED:
        kind, from_first_token = PUBLISHED[system]
        curve = OnlineCurve(samples(from_first_token), kind, learns=False)
        return AdmissionController(make("saber", seed), curve), POLLS_S["saber"]
    if system not in ("ours", "ours cold"):
        raise ValueError(f"no system {system!r}; there are: {', '.join(SYSTEMS)} and ours cold")
    if system == "ours cold":
        return AdmissionController(make("in_time")), POLLS_S["ours"]
    controller = AdmissionController(make("in_time"), OnlineCurve(samples(True)))
    curve = fitted("usl")
    for m in profiled():
        spec = m.spec
        request = AdmissionRequest(spec.request_id, spec.slo_class, spec.user, 0.0, spec.limit_s, spec.tokens)
        controller.learn(request, curve.speed(m.load) * m.seconds)
    return controller, POLLS_S["ours"]


def run_one(cell: AdmissionCell, seed: int) -> AdmissionOutcome:
    """One run."""
    controller, poll_s = controller_of(cell.system, seed)
    specs = requests(cell.mix, cell.rate, seed, cell.num_requests)
    return simulate(specs, ENGINES[cell.engine], controller, seed, poll_s)


def measure(cell: AdmissionCell, seeds: Sequence[int]) -> AdmissionResult:
    """One cell over all seeds."""
    each, ratios, errors = [], [], []
    for seed in seeds:
        outcome = run_one(cell, seed)
        each.append(outcome.goodput)
        ratios.append(statistics.fmean(s.latency_s / s.spec.limit_s for s in outcome.served))
        errors += [
            abs(s.estimate_s - s.latency_s) / s.latency_s
            for s in outcome.served if s.estimate_s is not None
        ]  # fmt: skip
    error = statistics.median(errors) if errors else 0.0
    return AdmissionResult(statistics.fmean(each), statistics.fmean(ratios), error, tuple(each))


def run_cells(cells: Iterable[AdmissionCell], seeds: Sequence[int]) -> dict[AdmissionCell, AdmissionResult]:
    """All cells, on all cores."""
    wanted = list(dict.fromkeys(cells))
    profiled()
    with get_context("fork").Pool() as pool:
        found = pool.starmap(measure, [(cell, seeds) for cell in wanted], chunksize=1)
    return dict(zip(wanted, found, strict=True))


def best_static(found: Callable[[str], float]) -> str:
    """The static limit for which a number is the largest."""
    return max(STATIC, key=found)
