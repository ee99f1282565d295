"""One run of a fleet: which engines, which budget policy in them, which router before them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np

from benchmarks.fleet.engines import members
from benchmarks.slo.workloads import requests
from lab.simulator.budget.engine import StepTimeChange
from lab.simulator.fleet.run import Death, FleetOutcome, FleetRequest, Link, Owners, simulate
from relserve.policies.dispatch.variants import make

EVERY_S = 0.02  # between two reports of a member
REQUEST_S, REPORT_S = 1.65e-4, 1.8e-5  # of an owner's time, measured with 4,000 members (`shards.costs`)
WAITING = 300  # reports that its socket holds
SLOWER = 2.0  # times the limits of equal engines: the slowest kind could not keep those
UNEQUAL = ("H100", "A100", "A6000")
FLEETS = {
    "equal": ("H100",) * 8, "unequal": UNEQUAL,
    "unequal 8": (*UNEQUAL, *UNEQUAL, "H100", "A6000"),
    "unequal 64": UNEQUAL * 21 + UNEQUAL[:1], "unequal 1000": UNEQUAL * 333 + UNEQUAL[:1],
}  # fmt: skip


class FleetCell(NamedTuple):
    """A run.

    Attributes:
        rate: requests a second to the whole fleet.
        budget: the budget policy in the members.
        delay_s: how old reports are when they come.
        fault: of the first member: "dies" after 1 s and is back 3 s later, "slows" threefold after 1 s.
        shards: owners that share the fleet.
        rarer: how many times longer a member waits between two reports to one owner.
        owner_times: how many times longer than measured an owner takes for its work; 0: it takes no time.
        may_jump: whether steps that decode the same rows are taken together, see `simulate`.
    """

    fleet: str
    scenario: str
    rate: float
    budget: str
    router: str
    seed: int
    seconds: float
    delay_s: float = 0.005
    fault: str = ""
    shards: int = 1
    rarer: float = 1.0
    owner_times: float = 0.0
    may_jump: bool = False

    @property
    def link(self) -> Link:
        """Between members and owners."""
        apart = len(FLEETS[self.fleet]) if self.owner_times else 1  # not all reports at once to a busy one
        return Link(self.delay_s, EVERY_S * self.rarer, num_beats=apart)

    @property
    def owners(self) -> Owners:
        """Slower ones lose reports after as long a wait as others."""
        times = self.owner_times
        return Owners(self.shards, times * REQUEST_S, times * REPORT_S, WAITING / max(times, 1.0))


class FleetResult(NamedTuple):
    """What is kept of a run: shares in percent, times in seconds, a choice in microseconds.

    Attributes:
        wait_p90_s: of requests for their owner.
        lost: reports that found no room at an owner.
        num_requests: all of them.
    """

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
    wait_p90_s: float = 0.0
    lost: float = 0.0
    num_requests: int = 0


def slower_of(fleet: str) -> float:
    """How many times the limits of equal engines its requests have."""
    return 1.0 if set(FLEETS[fleet]) == {"H100"} else SLOWER


def asked(cell: FleetCell) -> list[FleetRequest]:
    """The requests of a cell."""
    slower = slower_of(cell.fleet)
    return [
        FleetRequest(*spec[:3], slower * spec.ttft_slo_s, slower * spec.tpot_slo_s)
        for spec in requests(cell.scenario, cell.rate, cell.seed, cell.seconds)
    ]


def run_one(cell: FleetCell) -> FleetResult:
    """One run.

    Raises:
        RuntimeError: a request was not answered, or twice.
    """
    kinds = FLEETS[cell.fleet]
    fleet = members(kinds, cell.budget, cell.scenario, slower_of(cell.fleet))
    deaths = []
    if cell.fault == "dies":
        deaths = [Death(1.0, fleet[0].name, 3.0)]
    elif cell.fault == "slows":
        slowed = replace(fleet[0].engine.times, changes=(StepTimeChange(1.0, 3.0),))
        fleet[0] = fleet[0]._replace(engine=fleet[0].engine._replace(times=slowed))
    outcome = simulate(
        asked(cell), fleet, make(cell.router), cell.link, cell.seed, deaths, cell.owners, cell.may_jump
    )
    if any(served.answers != 1 for served in outcome.served):
        raise RuntimeError(f"{cell}: requests without an answer, or with two")
    return result_of(outcome, kinds)


def result_of(outcome: FleetOutcome, kinds: Sequence[str]) -> FleetResult:
    """What is kept of it."""
    served = outcome.served
    times = np.array([(each.ttft_s, each.tpot_s, each.e2e_s) for each in served])
    limits = np.array([(each.spec.ttft_slo_s, each.spec.tpot_slo_s) for each in served])
    ttft, tpot = (100 * (times[:, :2] <= limits).mean(axis=0)).tolist()
    ttft_s, tpot_s, e2e_s = np.median(times, axis=0).tolist()
    went = [each.member.partition("-")[0] for each in served]
    return FleetResult(
        100 * outcome.attained, ttft, tpot, ttft_s, tpot_s, e2e_s, float(np.percentile(times[:, 2], 90)),
        1e6 * float(np.median(outcome.choices_s)), outcome.wall_s,
        tuple(100 * went.count(kind) / len(went) for kind in dict.fromkeys(kinds)),
        float(np.percentile(outcome.waits_s, 90)), 100 * outcome.num_lost / max(outcome.num_reports, 1),
        len(served),
    )  # fmt: skip


def run_cells(cells: Iterable[FleetCell]) -> dict[FleetCell, FleetResult]:
    """All cells, on as many processes as there are cores to use."""
    wanted = list(dict.fromkeys(cells))
    with get_context("fork").Pool(len(os.sched_getaffinity(0))) as pool:
        return dict(zip(wanted, pool.map(run_one, wanted, chunksize=1), strict=True))
