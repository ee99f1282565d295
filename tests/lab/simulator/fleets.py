"""Members and requests that tests of simulated fleets share."""

from __future__ import annotations

import numpy as np

from lab.simulator.budget.engine import NoisyTimes
from lab.simulator.budget.run import BudgetedEngineSpec
from lab.simulator.fleet.member import SimulatedMemberSpec
from lab.simulator.fleet.run import FleetRequest
from lab.simulator.roofline import Roofline
from relserve.policies.budget.variants import make as make_budget

QUICK = Roofline(3e-3, 6e-3, 2.7e-5, 0.0, 2e-5, 5e-8, 0.0)
SLOW = Roofline(5e-3, 13e-3, 9e-5, 0.0, 2e-5, 1e-7, 0.0)


def member(
    name: str, roofline: Roofline = QUICK, budget: str = "static-512", **more: object
) -> SimulatedMemberSpec:
    times = NoisyTimes(roofline, changes=more.pop("changes", ()))  # type: ignore[arg-type]
    return SimulatedMemberSpec(name, BudgetedEngineSpec(times, 4_000), lambda: make_budget(budget), **more)  # type: ignore[arg-type]


def load(count: int = 60, rate: float = 20.0, sessions: int = 0, seed: int = 1) -> list[FleetRequest]:
    random = np.random.default_rng(seed)
    arrivals = np.cumsum(random.exponential(1 / rate, count))
    return [
        FleetRequest(
            float(t), int(random.integers(200, 2000)), int(random.integers(1, 100)), 1.0, 0.03,
            f"s{i % sessions}" if sessions else "", 150 if sessions else 0,
        )
        for i, t in enumerate(arrivals)
    ]  # fmt: skip
