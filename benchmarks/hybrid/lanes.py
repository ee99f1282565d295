"""Lanes: an engine of each way a lane, lanes side by side, each run between two probes of the speed.

Engines run on one thread and by the clock of the processor time that they take, so that other programs, and
the lane beside, cost them little; what is left is the machine's own speed, which a probe on the lane's stock
engine tells: arrivals and limits are stretched by what it takes, and all times are given in seconds of the
first probe.
"""

from __future__ import annotations

import queue
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple
from typing import Any, NamedTuple, TypeVar

import numpy as np

from benchmarks.effective.attainment import RequestLimits, RequestRecord
from benchmarks.effective.workload import TimedRequest
from benchmarks.hybrid.requests import records, requests, stretched
from benchmarks.relquery_engines import EngineSetup, EngineWorker, Run
from lab.simulator.workload import RelSpec
from relserve.policies.model.linear import CostModel, fit

PROBE = requests([TimedRequest(0.0, 64, 64)] * 4, 998)
WARM_UP = requests([TimedRequest(0.0, 64, 16)] * 8, 999)

PROBES = 7  # of which the median counts: a single one is off by a tenth, and the load with it

Job = TypeVar("Job")
Result = TypeVar("Result")


class Start(NamedTuple):
    """What a lane's engine of a way is started with, as `EngineWorker` takes it."""

    variant: str
    settings: Mapping[str, Any]
    engine: EngineSetup


class Lane:
    """An engine of each way.

    Args:
        starts: of the engines by way, the first of which tells the speed.
        reference_s: seconds of the probe on a machine of the speed that all times are given for; None: as
            fast as it is now.
    """

    def __init__(self, starts: Mapping[str, Start], reference_s: float | None = None) -> None:
        self._workers = {name: EngineWorker(*start) for name, start in starts.items()}
        for worker in self._workers.values():
            worker.serve(WARM_UP)
        self._judge = next(iter(self._workers.values()))
        self.probes_s = [self._probe()]
        self.reference_s = reference_s or self.probes_s[0]

    def _probe(self) -> float:
        return statistics.median(float(self._judge.serve(PROBE)["makespan_s"]) for _ in range(PROBES))

    def serve(
        self, way: str, trace: Sequence[RelSpec], slo: RequestLimits | None = None
    ) -> tuple[list[RequestRecord], Run]:
        """Serve a trace of single requests: what became of each, and all else that the worker tells.

        Args:
            slo: what requests ask for.
        """
        before = self.probes_s[-1]
        slower = before / self.reference_s
        told = stretched(trace, slower)
        limits_s = [slower * each for each in slo or ()]
        run = self._workers[way].serve(told, forget=True, tokens=True, slo_s=limits_s)
        self.probes_s.append(self._probe())
        factor = 2 * self.reference_s / (before + self.probes_s[-1])
        return records(told, run.pop("token_s"), factor), run

    def relqueries(self, way: str, trace: Sequence[RelSpec]) -> tuple[list[float], Run]:
        """Serve a trace of relQueries: the latency of each, and all else that the worker tells."""
        before = self.probes_s[-1]
        run = self._workers[way].serve(stretched(trace, before / self.reference_s), forget=True)
        self.probes_s.append(self._probe())
        factor = 2 * self.reference_s / (before + self.probes_s[-1])
        return [factor * latency_s for _, latency_s, *_ in run["rels"].values()], run

    def step_cost(self, trace: Sequence[RelSpec]) -> CostModel:
        """What steps of a trace take on the stock engine, the median of three; by `clocks.ChargedClock`."""
        found = [fit(np.array(self._judge.serve(trace)["steps"])) for _ in range(3)]
        return CostModel(*np.median([astuple(each) for each in found], axis=0).tolist())

    def charge(self, cost: CostModel) -> None:
        """Count steps so from now on."""
        for worker in self._workers.values():
            worker.cost = cost
        self.probes_s = [self._probe()]
        self.reference_s = self.probes_s[0]

    def quit(self) -> None:
        """End the engines."""
        for worker in self._workers.values():
            worker.quit()


def side_by_side(jobs: Iterable[Job], do: Callable[[Job], Result], threads: int) -> list[Result]:
    """The results of all jobs in their order, so many done at a time."""
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(do, jobs))


def on_lanes(lanes: Sequence[Lane], jobs: Iterable[Job], do: Callable[[Lane, Job], Result]) -> list[Result]:
    """The results of all jobs in their order, each done on the lane that is free next."""
    free: queue.SimpleQueue[Lane] = queue.SimpleQueue()
    for lane in lanes:
        free.put(lane)

    def on_a_lane(job: Job) -> Result:
        lane = free.get()
        try:
            return do(lane, job)
        finally:
            free.put(lane)

    return side_by_side(jobs, on_a_lane, len(lanes))
