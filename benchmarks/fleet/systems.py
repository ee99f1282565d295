"""One run of a fleet: which engines, which budget policy in them, which router before them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np

from benchmarks.fleet.engines import members
from benchmarks.slo.workloads import requests
from relserve.policies.dispatch.variants import make
from relserve.simulator.fleet.run import FleetRequest, Link, Outcome, simulate

SLOWER = 2.0  # times the limits of equal engines: the slowest kind could not keep those
FLEETS = {"equal": ("H100",) * 8, "paper": ("H100", "A100", "A6000")}


class Cell(NamedTuple):
    """A run.

    Attributes:
        rate: requests a second to the whole fleet.
        budget: the budget policy in the members.
        delay_s: how old reports are when they come.
    """

    fleet: str
    scenario: str
    rate: float
    budget: str
    router: str
    seed: int
    seconds: float
    delay_s: float = 0.005


class Result(NamedTuple):
    """What is kept of a run: shares in percent, times in seconds, a choice in microseconds."""

    attained: float
    ttft: float
    tpot: float
    ttft_p50_s: float
    tpot_p50_s: float
    e2e_p50_s: float
    e2e_p90_s: float
    choice_us: float
    wall_s: float
    shares: tuple[float, ...]


def asked(cell: Cell) -> list[FleetRequest]:
    """The requests of a cell."""
    slower = 1.0 if set(FLEETS[cell.fleet]) == {"H100"} else SLOWER
    return [
        FleetRequest(spec.arrival_s, spec.num_prompt, spec.num_output, slower * spec.ttft_slo_s, slower * spec.tbt_slo_s)
        for spec in requests(cell.scenario, cell.rate, cell.seed, cell.seconds)
    ]


def run_one(cell: Cell) -> Result:
    """One run."""
    kinds = FLEETS[cell.fleet]
    slower = 1.0 if set(kinds) == {"H100"} else SLOWER
    outcome = simulate(
        asked(cell), members(kinds, cell.budget, cell.scenario, slower), make(cell.router),
        Link(cell.delay_s), cell.seed,
    )  # fmt: skip
    return result_of(outcome, kinds)


def result_of(outcome: Outcome, kinds: Sequence[str]) -> Result:
    """What is kept of it."""
    served = outcome.served
    e2e_s = [each.e2e_s for each in served]
    share = [float(np.mean([s.member.split("-")[0] == kind for s in served])) for kind in dict.fromkeys(kinds)]
    return Result(
        100 * outcome.attained,
        100 * float(np.mean([each.ttft_s <= each.spec.ttft_slo_s for each in served])),
        100 * float(np.mean([each.tpot_s <= each.spec.tpot_slo_s for each in served])),
        float(np.median([each.ttft_s for each in served])), float(np.median([each.tpot_s for each in served])),
        float(np.median(e2e_s)), float(np.percentile(e2e_s, 90)), 1e6 * float(np.median(outcome.choices_s)),
        outcome.wall_s, tuple(100 * one for one in share),
    )  # fmt: skip


def run_cells(cells: Iterable[Cell]) -> dict[Cell, Result]:
    """All cells, on as many processes as there are cores to use."""
    wanted = list(dict.fromkeys(cells))
    with get_context("fork").Pool(len(os.sched_getaffinity(0))) as pool:
        return dict(zip(wanted, pool.map(run_one, wanted, chunksize=1), strict=True))
