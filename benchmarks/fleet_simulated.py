"""NexusSched's fleet, simulated: Figures 4, 7, 8 and 9 with LENS in the members; PRISM, other routers, ours.

Figures 7 and 8: eight H100 with Llama3-8B by published figures, the five scenarios of Table 2 at eight times
the highest rate of `slo_simulated`; vLLM V1 with its 8,192 tokens a step or LENS in the members, behind round
robin, PRISM or ours. Figures 4 and 9: an H100, an A100 and two A6000 with tensor parallelism, four scenarios
at two rates, limits twice as long, for the slowest could not keep the others; LENS in all, all routers.
Reports are 5 ms old; members have served the scenario before. `attainment_gain` is how many more requests
LENS and PRISM keep within their limits than vLLM V1 behind round robin, percent, both means of the scenarios
(the paper: 43). `worst_over_published` is the least of ours over PRISM, both with LENS, in points, over the
eight cells of Figure 9; `default_worst_over_published` that of a fleet as it is by default, with our step
budgets in the members, over LENS and PRISM. `most_owners_cost` is how many points less ours keeps where
sixteen owners share 64 unequal engines than where one has them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.claims import Higher, Lower, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.fleet import plan, shards
from benchmarks.fleet.choices import choices_us
from benchmarks.fleet.systems import EVERY_S, FLEETS, FleetCell, FleetResult, run_cells
from benchmarks.plots import bars
from benchmarks.slo.systems import BASE
from benchmarks.slo.workloads import SCENARIOS

ROOMS = (
    "relserve/policies/dispatch", "relserve/policies/budget", "relserve/policies/model",
    "lab/simulator/fleet", "lab/simulator/budget",
)  # fmt: skip
HEADLINE = {
    "attainment_gain": Untold("the paper's"), "attainment_points": Untold("the paper's"),
    "lens_alone": Untold("the paper's"), "prism_alone": Untold("the paper's"),
    "ours_worst_over_round_robin": Higher(by=0.5), "default_over_nexus_equal": Higher(by=0.5),
    "unequal_gain": Untold("the paper's"), "unequal_gain_ours": Higher(by=0.5),
    "worst_over_published": Higher(by=0.5), "mean_over_published": Higher(by=0.5),
    "default_worst_over_published": Higher(by=0.5), "default_mean_over_published": Higher(by=0.5),
    "choice_us_64": Lower(0.6, timed=True), "ours_old_state": Untold("--only old"),
    "ours_p90_with_faults": Untold("--only faults"), "most_engines": Untold("--only sizes"),
    "most_owners_cost": Untold("--only shards"), "most_engines_of_one_owner": Untold("--only shards"),
    "million_minutes": Untold("--only million"), "rows_change_percent": Untold("--only million"),
}  # fmt: skip

V1, LENS_RR, NEXUS = (BASE, "round_robin"), ("lens", "round_robin"), ("lens", "prism")
DEFAULT = "ours, our budgets"


class FleetResults:
    """All results; means are over seeds."""

    def __init__(self, results: dict[FleetCell, FleetResult], seeds: Sequence[int]) -> None:
        self.results, self.seeds = results, seeds
        self._groups: dict[tuple[Any, ...], list[FleetResult]] = {}
        for cell, result in results.items():
            self._groups.setdefault(cell._replace(seed=0), []).append(result)

    def mean(self, cell: FleetCell, field: str = "attained") -> float:
        """Of a cell with any seed; its seeds may be fewer than all."""
        return statistics.fmean(getattr(result, field) for result in self._groups[cell._replace(seed=0)])


def unique(cells: Iterable[FleetCell]) -> list[FleetCell]:
    """One of each group of seeds."""
    return list(dict.fromkeys(cell._replace(seed=0) for cell in cells))


def name_of(cell: FleetCell) -> str:
    """Of its router, before members with LENS or ours."""
    return cell.router if cell.budget == "lens" else DEFAULT


def figures_7_and_8(
    found: FleetResults, cells: Sequence[FleetCell]
) -> tuple[list[list[Any]], dict[str, float]]:
    """Attainment on equal engines, and what LENS and PRISM bring, alone and together."""
    rows: list[list[Any]] = []
    over: dict[tuple[str, str], list[float]] = {system: [] for system in plan.SYSTEMS}
    for scenario in dict.fromkeys(cell.scenario for cell in cells):
        here = {(cell.budget, cell.router): cell for cell in cells if cell.scenario == scenario}
        at = {system: found.mean(cell) for system, cell in here.items()}
        times = [
            found.mean(here[system], field) for system in (V1, NEXUS) for field in ("e2e_p50_s", "e2e_p90_s")
        ]  # fmt: skip
        rows.append([scenario, here[V1].rate, *at.values(), *times])
        for system, attained in at.items():
            over[system].append(attained)
    print("Figures 7 and 8, eight equal engines: requests within both limits, %; s end to end, P50 and P90")
    names = [f"{budget.replace(BASE, 'V1')} {router}" for budget, router in plan.SYSTEMS]
    print(table(["scenario", "req/s", *names, "V1 RR P50", "P90", "LENS PRISM P50", "P90"], rows))
    base = statistics.fmean(over[V1])
    mean = {system: statistics.fmean(attained) for system, attained in over.items()}
    lens, prism, both = (
        statistics.fmean(one / max(v1, 0.1) for one, v1 in zip(over[system], over[V1], strict=True))
        for system in (LENS_RR, (BASE, "prism"), NEXUS)
    )
    print(
        f"over V1 behind round robin, ratios' means: LENS {lens:.2f}x, PRISM {prism:.2f}x, both {both:.2f}x"
    )
    print(f"(the paper: 2.5x and 1.4x alone); means: V1 {base:.1f} %, both {mean[NEXUS]:.1f} % (43 % more)")
    worst = [one - rr for one, rr in zip(over["lens", "ours"], over[LENS_RR], strict=True)]
    default = [one - nexus for one, nexus in zip(over["ours", "ours"], over[NEXUS], strict=True)]
    return rows, {
        "attainment_gain": 100 * (mean[NEXUS] / max(base, 0.1) - 1), "attainment_points": mean[NEXUS] - base,
        "lens_alone": lens, "prism_alone": prism, "ours_worst_over_round_robin": min(worst),
        "default_over_nexus_equal": statistics.fmean(default),
    }  # fmt: skip


def figures_4_and_9(
    found: FleetResults, cells: Sequence[FleetCell]
) -> tuple[list[list[Any]], dict[str, float]]:
    """Attainment, latencies and shares on unequal engines, router by router."""
    rows, over, gains = [], [], []
    for scenario, rate in dict.fromkeys((cell.scenario, cell.rate) for cell in cells):
        here = {name_of(cell): cell for cell in cells if (cell.scenario, cell.rate) == (scenario, rate)}
        for router, cell in here.items():
            runs = [result.shares for c, result in found.results.items() if c._replace(seed=0) == cell]
            shares = [round(statistics.fmean(column)) for column in zip(*runs, strict=True)]
            each = [found.mean(cell, field) for field in FleetResult._fields[:7]]
            rows.append([scenario, rate, router, *each, *shares])
        at = {router: found.mean(cell) for router, cell in here.items()}
        over.append((at["ours"] - at["prism"], at[DEFAULT] - at["prism"]))
        if "latency" in at:  # the high rate
            gains += [(at["prism"] - at[router], at["ours"] - at[router]) for router in plan.PAPER_ROUTERS]
    print("\nFigures 4 and 9, an H100, an A100, two A6000 as one: within both limits, each limit, %; s to")
    print("the first token, s a token, s end to end (medians) and its P90; share of the requests, %")
    columns = ["scenario", "req/s", "router", "both", "TTFT", "TPOT", "s", "s", "e2e", "P90"]
    print(table([*columns, *FLEETS["unequal"]], rows))
    published, ours = (statistics.fmean(column) for column in zip(*gains, strict=True))
    with_lens, default = zip(*over, strict=True)
    print(f"over the paper's three routers, mean: PRISM {published:.1f}, ours {ours:.1f} points (the")
    print("paper: 10 to 25 at high load)")
    return rows, {
        "unequal_gain": published, "unequal_gain_ours": ours, "worst_over_published": min(with_lens),
        "mean_over_published": statistics.fmean(with_lens),
        "default_worst_over_published": min(default),
        "default_mean_over_published": statistics.fmean(default),
    }  # fmt: skip


def by_delay(found: FleetResults, cells: Sequence[FleetCell]) -> tuple[list[list[Any]], float]:
    """What states that are a second old cost."""
    rows: list[list[Any]] = []
    for cell in cells:
        if cell.delay_s == plan.OLD_S:
            fresh = found.mean(cell._replace(delay_s=0.005))
            rows.append([cell.scenario, cell.rate, cell.router, fresh, found.mean(cell)])
    print("\nstates 5 ms old and 1 s old, unequal engines, LENS: within both limits, %")
    print(table(["scenario", "req/s", "router", "5 ms", "1 s"], rows))
    return rows, min((row[4] - row[3] for row in rows if row[2] == "ours"), default=0.0)


def by_way(found: FleetResults, cells: Sequence[FleetCell]) -> list[list[Any]]:
    """A million requests, and what it changes that steps which decode the same rows are taken together."""
    rows = []
    for cell in cells:
        each = [found.mean(cell, field) for field in ("num_requests", *FleetResult._fields[:7], "choice_us")]
        which = [len(FLEETS[cell.fleet]), cell.router, cell.budget, "rows" if cell.may_jump else "single"]
        rows.append([*which, *each, found.mean(cell, "wall_s") / 60])
    print("\nShareGPT on unequal engines, steps simulated one by one, or those that decode the same rows")
    print("together: within both limits, each limit, %; s to the first token, s a token, s end to end")
    print("(medians) and its P90; microseconds a request in the router, minutes of a run")
    columns = ["engines", "router", "budgets", "steps", "requests", "both", "TTFT", "TPOT", "s", "s", "e2e"]
    print(table([*columns, "P90", "us", "min"], rows))
    return rows


def with_faults(found: FleetResults, cells: Sequence[FleetCell]) -> list[list[Any]]:
    """A member that dies and one that turns slow."""
    rows = []
    for cell in cells:
        if not cell.fault:
            each = [cell._replace(fault=fault) for fault in ("", "dies", "slows")]
            rows.append([
                cell.router, *[found.mean(c) for c in each], *[found.mean(c, "e2e_p90_s") for c in each]
            ])  # fmt: skip
    print("\none of eight equal engines dies for 3 s, or turns three times slower: within both limits, %,")
    print("and P90 of s end to end; every request was answered once")
    columns = ["router", "undisturbed", "dies", "slows", "P90", "dies", "slows"]
    print(table(columns, rows))
    return rows


def by_size(found: FleetResults, cells: Sequence[FleetCell]) -> list[list[Any]]:
    """Larger fleets; and a choice alone, in turns over random states."""
    rows = []
    for cell in cells:
        number = len(FLEETS[cell.fleet])
        each = [found.mean(cell, field) for field in ("attained", "choice_us", "wall_s")]
        rows.append([number, cell.router, cell.rate, *each])
    print("\nmore engines, each with as much of FlowGPT-T to do, LENS: within both limits, %, microseconds a")
    print("request in the router (choice and bookkeeping), s of a run")
    print(table(["engines", "router", "req/s", "both", "us", "s"], rows))
    return rows


def by_owners(found: FleetResults, cells: Sequence[FleetCell]) -> list[list[Any]]:
    """Several owners of one fleet."""
    rows = []
    for cell in cells:
        each = [found.mean(cell, field) for field in ("attained", "e2e_p90_s", "wait_p90_s", "lost")]
        times = [cell.owner_times, 1e3 * EVERY_S * cell.rarer]
        rows.append([cell.router, *times, cell.shards, *each[:2], 1e3 * each[2], each[3]])
    print("\nseveral owners of one fleet of unequal engines, FlowGPT-T, LENS; an owner's work takes so many")
    print("times as long as measured; within both limits, %; P90 of s end to end, and of ms that a request")
    print("takes at its owner; reports that were lost, for its socket was full, %")
    columns = ["router", "times", "ms a report", "owners", "both", "e2e P90", "owner P90", "lost"]
    print(table(columns, rows))
    return rows


def on_paper(quick: bool) -> tuple[list[shards.OwnerCosts], list[shards.OwnerLoad]]:
    """What owners of larger fleets have to do."""
    costs = shards.costs((64,) if quick else shards.SIZES, 200 if quick else 2000)
    loads = shards.on_paper(costs)
    print("\na request at an owner, from choice to end, and a report, from its datagram on, microseconds of")
    print("CPU time; and how many engines would fill one owner's time")
    rows = [[*each, shards.most_engines(each)] for each in costs]
    print(table(["engines", "request", "report", "most"], rows))
    print("\non paper, of each owner's time, %: 8/3 requests a second to an engine, 50 reports a second of")
    print("each to every owner, or to all together")
    print(table(["engines", "owners", "requests", "reports", "both", "rarer", "both"], loads))
    return costs, loads


def quick_choices(quick: bool) -> list[list[Any]]:
    """Microseconds of a choice by router and number of members."""
    rows = choices_us((64,) if quick else (8, 64, 1000), 100 if quick else 1000)
    print("\na choice alone, and taking in a report, microseconds of CPU time (our aim: 100 at 64 members)")
    print(table(["members", "router", "median", "P99"], rows))
    return rows


def main() -> None:
    """Print every figure as a table, save all with a plot, end with one line of JSON."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=5, help="runs of each cell")
    parser.add_argument("--only", choices=PARTS, help="one part, saved in a file of its own")
    args = parser.parse_args()
    started, seeds = time.perf_counter(), list(range(1, (1 if args.quick else args.seeds) + 1))
    parts = (args.only,) if args.only else ("figures",) if args.quick else PARTS
    details: dict[str, Any] = {"seeds": seeds, "by_seed": []}
    headline: dict[str, Any] = {}
    for part in parts:
        found, values, tables = PARTS[part](seeds, args.quick)
        details["by_seed"] += [[*cell, *result] for cell, result in found.results.items()]
        details |= tables
        headline |= {name: round(value, 2) for name, value in values.items()}
    print(f"\n{time.perf_counter() - started:.0f} s of simulation")
    name = "fleet_simulated" + (f"_{args.only}" if args.only and args.only != "figures" else "")
    finish(name, headline, details, args.quick, partial(plot, details) if "figures" in parts else None)


Part = tuple[FleetResults, dict[str, float], dict[str, Any]]


def figures(seeds: Sequence[int], quick: bool) -> Part:
    """The paper's figures, and how long choices take."""
    scenarios, seconds = (("FlowGPT-T",), 2.0) if quick else (tuple(SCENARIOS), 5.0)
    equal = list(plan.equal(seeds, scenarios, seconds))
    unequal = list(plan.unequal(seeds, ("FlowGPT-T",) if quick else tuple(plan.UNEQUAL)))
    found = FleetResults(run_cells([*equal, *unequal]), seeds)
    rows, first = figures_7_and_8(found, unique(equal))
    more_rows, second = figures_4_and_9(found, unique(unequal))
    choices = quick_choices(quick)
    at_64 = max(row[2] for row in choices if row[0] == 64 and row[1] in ("prism", "ours"))
    tables = {"figures_7_and_8": rows, "figures_4_and_9": more_rows, "choices_us": choices}
    return found, first | second | {"choice_us_64": at_64}, tables


def old(seeds: Sequence[int], quick: bool) -> Part:
    """States that are a second old."""
    cells = list(plan.old(seeds))
    found = FleetResults(run_cells(cells), seeds)
    rows, worst = by_delay(found, unique(cells))
    return found, {"ours_old_state": worst}, {"old_states": rows}


def faults(seeds: Sequence[int], quick: bool) -> Part:
    """A death, a slow turn."""
    cells = list(plan.faults(seeds))
    found = FleetResults(run_cells(cells), seeds)
    rows = with_faults(found, unique(cells))
    worst = max(max(row[5:]) / row[4] for row in rows if row[0] == "ours")
    return found, {"ours_p90_with_faults": worst}, {"faults": rows}


def sizes(seeds: Sequence[int], quick: bool) -> Part:
    """Larger and larger fleets."""
    cells = list(plan.large(seeds))
    found = FleetResults(run_cells(cells), seeds)
    rows = by_size(found, unique(cells))
    return found, {"most_engines": max(row[0] for row in rows)}, {"sizes": rows}


def million(seeds: Sequence[int], quick: bool) -> Part:
    """A million requests to a thousand engines."""
    cells = list(plan.million(seeds[:1] if quick else seeds, 2000 if quick else 1_000_000))
    found = FleetResults(run_cells(cells), seeds)
    rows = by_way(found, unique(cells))
    large = max(row[-1] for row in rows if row[0] == 1000)
    singly = {row[1]: row for row in rows if row[0] == 64 and row[3] == "single"}
    p90 = 11  # the column of seconds end to end
    apart = max(abs(row[p90] / singly[row[1]][p90] - 1) for row in rows if row[0] == 64)
    return found, {"million_minutes": large, "rows_change_percent": 100 * apart}, {"million": rows}


def owners(seeds: Sequence[int], quick: bool) -> Part:
    """Several owners that share a fleet; two seeds."""
    cells = list(plan.shards(seeds[:1], "unequal 8", 0.5) if quick else plan.shards(seeds[:2]))
    found = FleetResults(run_cells(cells), seeds)
    rows = by_owners(found, unique(cells))
    costs, loads = on_paper(quick)
    quickest = {row[3]: row[4] for row in rows if row[:3] == ["ours", 1.0, 1e3 * EVERY_S]}
    headline = {
        "most_owners_cost": quickest[1] - quickest[plan.SHARDS[-1]],
        "most_engines_of_one_owner": shards.most_engines(costs[-1]),
    }
    return found, headline, {"owners": rows, "owner_us": costs, "on_paper": loads}


PARTS: dict[str, Callable[[Sequence[int], bool], Part]] = {
    "figures": figures, "old": old, "faults": faults, "sizes": sizes, "shards": owners,
    "million": million,
}  # fmt: skip


def plot(details: dict[str, Any], path: Path) -> None:
    """Figure 4(a): attainment by router at the high rates, the mean of the scenarios."""
    rows = details["figures_4_and_9"]
    high = {scenario: max(row[1] for row in rows if row[0] == scenario) for scenario in plan.UNEQUAL}
    values = {
        router: statistics.fmean(row[3] for row in rows if row[2] == router and row[1] == high[row[0]])
        for router in plan.ROUTERS
    }
    bars(path, values, "requests within both limits, %, unequal engines at the high rates, LENS in all")


if __name__ == "__main__":
    main()
