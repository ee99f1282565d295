"""The runs of `effective_simulated`: systems, one simulated run, the search for a rate, all on all cores."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from typing import Any, NamedTuple

from benchmarks.effective.attainment import Attainment, RequestRecord, attainment
from benchmarks.effective.lengths import lengths_of
from benchmarks.effective.rates import Curve
from benchmarks.effective.workload import workload
from benchmarks.effective_models import CONTEXT, MODELS
from benchmarks.effective_paper import slo_of
from lab.simulator.requests.run import simulate
from lab.simulator.requests.sim_request import RequestSpec
from relserve.policies.caching.variants import make

LEVELS = (0.9, 0.6)
GOALS = (("attained", 0.9), ("attained", 0.6), ("strict", 0.9))  # metrics and levels whose rates are searched
SOUGHT_AT_60 = ("fcfs", "apt-kv", "apt", "apt-s")  # the others at 60 % would take most of the time
BRACKET = 1.15  # between the two rates around a level, which is then taken on the line between them
FARTHEST = 20  # times the start, up and down, that a rate is looked for
# Requests a second near what vLLM holds at 90 %; where the search begins.
STARTS = {"sharegpt": 2.3, "chat": 2.3, "code": 12.0, "summarisation": 0.7, "meetings": 1.3}
SLOWER = {"OPT-13B": 1.0, "OPT-30B": 0.75, "OPT-66B": 0.5}


class EffectiveSystem(NamedTuple):
    """A policy, a way to attend to the cache, the tokens of a mixed step (0: prompts or decodes, as V0)."""

    variant: str
    way: str
    chunk: int = 0


# By name, the settings of which each set of lengths gets the best. "steady"
# is the variant that drops nobody for a newcomer.
SYSTEMS = {
    "vLLM": [EffectiveSystem("fcfs", "kv")],
    "Sarathi": [EffectiveSystem("fcfs", "kv", chunk) for chunk in (256, 512, 1024)],
    "Apt KV": [EffectiveSystem("apt-kv", "kv")],
    "Apt": [EffectiveSystem("apt", "reproject")],
    "Apt-S": [EffectiveSystem("apt-s", "reproject", 512)],
    "ours KV": [EffectiveSystem("steady-kv", "kv", 512)],
    "absorbed FCFS": [EffectiveSystem("fcfs-hidden", "absorbed")],
    "absorbed Sarathi": [EffectiveSystem("fcfs-hidden", "absorbed", 512)],
    "absorbed Apt": [EffectiveSystem("apt", "absorbed")],
    "absorbed steady": [EffectiveSystem("steady", "absorbed", 512)],
    "absorbed-once FCFS": [EffectiveSystem("fcfs-hidden", "absorbed-once")],
    "absorbed-once steady": [EffectiveSystem("steady", "absorbed-once", 512)],
    "fp8 FCFS": [EffectiveSystem("fcfs", "fp8")],
    "fp8 Sarathi": [EffectiveSystem("fcfs", "fp8", 512)],
    "fp8 Apt": [EffectiveSystem("apt-kv", "fp8")],
    "fp8 steady": [EffectiveSystem("steady-kv", "fp8", 512)],
}
CORE = (
    "vLLM", "Sarathi", "Apt KV", "Apt", "Apt-S", "ours KV", "absorbed FCFS", "absorbed steady",
    "fp8 FCFS", "fp8 steady",
)  # fmt: skip
MAIN = ("vLLM", "Sarathi", "Apt", "absorbed steady")  # for larger models, Sarathi in chunks of LARGE_CHUNK
LARGE_CHUNK = 512


class EffectiveSetting(NamedTuple):
    """A model, a set of lengths, requests a second, the variation of their gaps."""

    model: str
    data: str
    rate: float
    cv: float


@dataclass(frozen=True)
class EffectiveSize:
    """How much is run: requests of a workload, seeds."""

    num_requests: int = 1000
    seeds: tuple[int, ...] = (1, 2)


class RateSearch(NamedTuple):
    """The search for one system's rates.

    Attributes:
        rates: requests a second by goal.
        measured: what was attained at the rates that were tried.
    """

    rates: dict[tuple[str, float], float]
    measured: dict[float, Attainment]


def measure(setting: EffectiveSetting, system: EffectiveSystem, size: EffectiveSize) -> Attainment:
    """Serve a setting's workloads, one a seed: the means over seeds, and the longest wait of all."""
    slo, model = slo_of(setting.model, setting.data), MODELS[setting.model]
    engine = model.engine(system.way, system.chunk or CONTEXT, exclusive=not system.chunk)
    each = []
    for seed in size.seeds:
        arrivals = workload(lengths_of(setting.data), setting.rate, setting.cv, size.num_requests, seed)
        served = simulate([RequestSpec(*a, *slo) for a in arrivals], engine, make(system.variant))
        records = [RequestRecord(r.spec.arrival_s, r.token_s) for r in served.requests]
        each.append(attainment(records, slo))
    means = Attainment(*(statistics.fmean(values) for values in zip(*each, strict=True)))
    return means._replace(worst_ttft_s=max(a.worst_ttft_s for a in each))


def search(model: str, data: str, system: EffectiveSystem, size: EffectiveSize) -> RateSearch:
    """The rates at which a system holds each level, by both metrics, under Poisson arrivals."""
    at = cache(lambda rate: measure(EffectiveSetting(model, data, rate, 1.0), system, size))
    start = STARTS[data] * SLOWER[model]
    limits = (start, start / FARTHEST, start * FARTHEST)
    rates, measured = {}, {}
    curves = {metric: Curve(_metric_of(at, metric), *limits) for metric, _ in GOALS}
    for metric, level in goals_of(system):
        rates[metric, level] = curves[metric].rate_at(level, BRACKET)
        measured.update({rate: at(rate) for rate in curves[metric].measured})
    return RateSearch(rates, measured)


def goals_of(system: EffectiveSystem) -> list[tuple[str, float]]:
    """The metrics and levels at which a system's rate is searched."""
    is_papers = system.variant in SOUGHT_AT_60 and system.way in ("kv", "reproject")
    return [(metric, level) for metric, level in GOALS if level == LEVELS[0] or is_papers]


def _metric_of(at: Callable[[float], Attainment], metric: str) -> Callable[[float], float]:
    return lambda rate: float(getattr(at(rate), metric))


Point = tuple[EffectiveSetting, EffectiveSystem]
Place = tuple[str, str, EffectiveSystem]


def run_points(
    wanted: Iterable[Point], size: EffectiveSize, processes: int | None = None
) -> dict[Point, Attainment]:
    """What was attained at each point."""
    points = list(dict.fromkeys(wanted))
    return dict(zip(points, _map(measure, [(*point, size) for point in points], processes), strict=True))


def run_searches(
    wanted: Iterable[Place], size: EffectiveSize, processes: int | None = None
) -> dict[Place, RateSearch]:
    """The rates of each model, lengths and system."""
    places = list(dict.fromkeys(wanted))
    return dict(zip(places, _map(search, [(*place, size) for place in places], processes), strict=True))


class _Job(NamedTuple):
    """A call in another process, numbered, so that results come as they are ready."""

    number: int
    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def run(self) -> tuple[int, Any]:
        return self.number, self.function(*self.arguments)


def _map(
    function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], processes: int | None
) -> list[Any]:
    """All results, in the order of the arguments; says on stderr how far it is."""
    found: dict[int, Any] = {}
    jobs = [_Job(i, function, each) for i, each in enumerate(arguments)]
    with get_context("spawn").Pool(processes) as pool:
        for number, result in pool.imap_unordered(_Job.run, jobs, chunksize=1):
            found[number] = result
            print(f"{function.__name__} {len(found)}/{len(jobs)}", file=sys.stderr, flush=True)
    return [found[number] for number in range(len(jobs))]
