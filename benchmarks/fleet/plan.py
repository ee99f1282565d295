"""Which runs are made: the figures of the paper, old states, failures, large fleets, several owners."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.fleet.systems import FLEETS, FleetCell
from benchmarks.slo.systems import BASE
from benchmarks.slo.workloads import SCENARIOS

SYSTEMS = (  # budget policy in the members, router
    (BASE, "round_robin"), (BASE, "prism"), ("lens", "round_robin"), ("lens", "prism"), ("lens", "ours"),
    ("ours", "ours"),
)  # fmt: skip
PAPER_ROUTERS = ("latency", "weighted", "least_loaded")  # section 7.4
ROUTERS = (
    "round_robin", *PAPER_ROUTERS, "least_unanswered", "power_of_two", "hexgen", "prism", "prism+own", "ours",
)  # fmt: skip
FEWER = ("least_loaded", "prism", "ours")
UNEQUAL = {  # requests a second to one engine of each kind, at its knee and beyond, and seconds of them
    "FlowGPT-T": (6.0, 8.0, 10.0), "FlowGPT-Q": (9.0, 10.0, 10.0), "Coding": (70.0, 80.0, 6.0),
    "ShareGPT": (90.0, 100.0, 6.0),
}  # fmt: skip
OLD_S = 1.0
OLD = ("least_loaded", "least_unanswered", "prism", "prism+own", "ours")
FAULTY = ("round_robin", "ours")
LARGE = {"unequal 8": 8, "unequal 64": 64, "unequal 1000": 1000}
PER_ENGINE = 8.0 / 3  # requests a second of FlowGPT-T
MILLION = (("ours", "ours"), (BASE, "round_robin"))  # budget policy in the members, router
SHORT = 80.0 / 3  # requests a second of ShareGPT to one of three unequal engines
SHARDS = (1, 2, 4, 8, 16)
RARER = ((1, 16), (4, 4), (4, 16), (16, 16))  # owners, and how many times rarer members report to each
STANDS_FOR = 4000  # engines: 64 whose owners are so much slower that they have as much to do


def equal(seeds: Sequence[int], scenarios: Sequence[str], seconds: float) -> Iterator[FleetCell]:
    """Figures 7 and 8: eight H100, beyond their knee."""
    for scenario in scenarios:
        for budget, router in SYSTEMS:
            rate = 8 * SCENARIOS[scenario].rates[-1]
            yield from (FleetCell("equal", scenario, rate, budget, router, s, seconds) for s in seeds)


def unequal(seeds: Sequence[int], scenarios: Sequence[str]) -> Iterator[FleetCell]:
    """Figures 4 and 9: an H100, an A100, two A6000 as one, LENS in all; fewer routers at the knee.

    Ours once more with our budgets in all, which is the default of a fleet.
    """
    for scenario in scenarios:
        *rates, seconds = UNEQUAL[scenario]
        for rate, routers in zip(rates, (FEWER, ROUTERS), strict=True):
            for router in routers:
                yield from (FleetCell("unequal", scenario, rate, "lens", router, s, seconds) for s in seeds)
            yield from (FleetCell("unequal", scenario, rate, "ours", "ours", s, seconds) for s in seeds)


def old(seeds: Sequence[int]) -> Iterator[FleetCell]:
    """States that are a second old, beside fresh ones of `unequal`."""
    for scenario in ("FlowGPT-T", "ShareGPT"):
        _, rate, seconds = UNEQUAL[scenario]
        for delay_s in (0.005, OLD_S):
            for router in OLD:
                yield from (
                    FleetCell("unequal", scenario, rate, "lens", router, s, seconds, delay_s) for s in seeds
                )


def faults(seeds: Sequence[int]) -> Iterator[FleetCell]:
    """Eight equal engines a quarter below their knee, of which one dies, or turns slow."""
    rate = 6 * SCENARIOS["FlowGPT-Q"].rates[1]
    for fault in ("", "dies", "slows"):
        for router in FAULTY:
            yield from (
                FleetCell("equal", "FlowGPT-Q", rate, "lens", router, s, 5.0, fault=fault) for s in seeds
            )


def large(seeds: Sequence[int]) -> Iterator[FleetCell]:
    """More and more unequal engines, each with as much to do; one seed of 64 and of a thousand."""
    for fleet, number in LARGE.items():
        for router in FEWER[number == 1000 :]:
            for seed in seeds if number == 8 else seeds[:1]:
                seconds = 1.0 if number == 1000 else 5.0
                yield FleetCell(fleet, "FlowGPT-T", PER_ENGINE * number, "lens", router, seed, seconds)


def million(seeds: Sequence[int], count: int = 1_000_000) -> Iterator[FleetCell]:
    """So many requests to a thousand unequal engines; and both ways of simulating, on 64 for 5 s."""
    for budget, router in MILLION:
        small = FleetCell("unequal 64", "ShareGPT", SHORT * 64, budget, router, 0, 5.0)
        for seed in seeds:
            yield from (small._replace(seed=seed, may_jump=may) for may in (False, True))
        seconds = count / (SHORT * 1000)
        yield FleetCell(
            "unequal 1000", "ShareGPT", SHORT * 1000, budget, router, seeds[0], seconds, may_jump=True
        )


def shards(seeds: Sequence[int], fleet: str = "unequal 64", seconds: float = 5.0) -> Iterator[FleetCell]:
    """More and more owners of one fleet: as quick as measured, then so slow that one has too much to do."""
    number = len(FLEETS[fleet])
    cell = FleetCell(fleet, "FlowGPT-T", PER_ENGINE * number, "lens", "ours", 0, seconds, owner_times=1.0)
    quick = [cell._replace(shards=each) for each in SHARDS]
    published = [cell._replace(router="prism", shards=each) for each in (1, 8)]
    rarer = [cell._replace(shards=each, rarer=times) for each, times in RARER]
    every = [cell._replace(shards=each) for each in (1, 4, 16)]
    slow = [each._replace(owner_times=STANDS_FOR / number) for each in (*every, *rarer)]
    for each in (*quick, *published, *rarer, *slow):
        yield from (each._replace(seed=seed) for seed in seeds)
