"""LENS of NexusSched, simulated: Figures 7, 8, 10 and 11 on one engine, beside static budgets and ours.

Five scenarios of Table 2 at three rates each, where the engine keeps up, at its knee and beyond it, on an
H100 with Llama3-8B by its roofline; vLLM's engine V0 (prompts alone, whole and first), its V1 with the budget
of 8,192 tokens that it has on such a GPU, other static budgets, LENS as published, ours. Attainment is the
share of requests within both limits, on the first token and on the mean time between the others. `lens_alone`
is LENS over vLLM V1, the mean of the scenarios, each at the rates where V1 attains less than 90 %; the paper
says 2.5, with eight engines behind round robin. `ours_worst_over_best_static` is ours over the static budget
that is best in a scenario, chosen afterwards, in the scenario where that is least.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.claims import Higher, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.plots import Panel, curves
from benchmarks.slo.learning import accuracy, cold_start, followed_s
from benchmarks.slo.systems import BASE, STATIC, SYSTEMS, SloCell, SloResult, run_cells
from benchmarks.slo.workloads import SCENARIOS, SECONDS

ROOMS = ("relserve/policies/budget", "relserve/policies/model", "lab/simulator/budget")
HEADLINE = {
    "lens_alone": Untold("the paper's"), "lens_alone_summarization": Untold("the paper's"),
    "ours_worst_over_best_static": Higher(0.02), "lens_worst_over_best_static": Untold("the paper's"),
    "ours_over_single_static": Higher(0.02), "lens_over_single_static": Untold("the paper's"),
    "ours_worst_points_at_a_rate": Higher(by=1), "least_r2.LENS": Untold("the paper's"),
    "least_r2.ours": Higher(by=0.01),
}  # fmt: skip

ALL_STATIC = (*STATIC, BASE)
SHOWN = ("v0", BASE, "lens", "ours-in-order", "ours")
QUICK_S = 8.0
HARD = 90.0  # percent; where V1 attains less there is something to gain
SMOOTH = (("FlowGPT-Q", 1), ("Coding", 2), ("Summarization", 1))  # scenarios and their rates' places


class SloResults:
    """All results, by scenario, rate, system and seed."""

    def __init__(
        self,
        results: dict[SloCell, SloResult],
        seeds: Sequence[int],
        scenarios: Sequence[str],
        engine: str = "edge",
    ) -> None:
        self._seeds, self.scenarios = seeds, scenarios
        self._results = {c[:4]: result for c, result in results.items() if c.engine == engine}

    def rates(self, scenario: str) -> list[float]:
        """Those that were run."""
        return sorted({rate for its, rate, *_ in self._results if its == scenario})

    def mean(self, scenario: str, rate: float, system: str, field: str = "attained") -> float:
        """Over seeds."""
        cells = [(scenario, rate, system, seed) for seed in self._seeds]
        return statistics.fmean(getattr(self._results[cell], field) for cell in cells)

    def over_rates(self, scenario: str, system: str) -> float:
        """Attainment, the mean of the rates."""
        return statistics.fmean(self.mean(scenario, rate, system) for rate in self.rates(scenario))

    def best(self, scenario: str, rate: float | None = None) -> str:
        """The static budget that is best in a scenario, or at one of its rates."""
        if rate is None:
            return max(ALL_STATIC, key=lambda system: self.over_rates(scenario, system))
        return max(ALL_STATIC, key=lambda system: self.mean(scenario, rate, system))

    def single(self) -> str:
        """The static budget that is best over all scenarios."""
        return max(ALL_STATIC, key=self.overall)

    def overall(self, system: str) -> float:
        """Attainment, the mean of all scenarios."""
        return statistics.fmean(self.over_rates(scenario, system) for scenario in self.scenarios)

    def alone(self, scenario: str, system: str = "lens") -> float:
        """A system over vLLM V1 where that one attains too little; NaN where it never does."""
        rates = [rate for rate in self.rates(scenario) if self.mean(scenario, rate, BASE) < HARD]
        if not rates:
            return math.nan
        base = sum(self.mean(scenario, rate, BASE) for rate in rates)
        return sum(self.mean(scenario, rate, system) for rate in rates) / max(base, 0.1)


def figure_7(found: SloResults) -> list[list[Any]]:
    """Attainment by rate, and the medians of the latencies."""
    rows, times = [], []
    for scenario in found.scenarios:
        for rate in found.rates(scenario):
            best = found.best(scenario, rate)
            attained = [found.mean(scenario, rate, s) for s in (*SHOWN, best)]
            rows.append([scenario, rate, *attained, best.removeprefix("static-")])
            for system in (BASE, best, "lens", "ours"):
                each = [found.mean(scenario, rate, system, f) for f in SloResult._fields[1:7]]
                label = system if system in (BASE, "lens", "ours") else f"best static ({system[7:]})"
                times.append([scenario, rate, label, each[0], each[1], each[2], 1e3 * each[3], *each[4:]])
    print("Figure 7: requests within both limits, %; the best static budget of each rate, chosen afterwards")
    print(table(["scenario", "req/s", *SHOWN, "best static", "its tokens"], rows))
    print("\nwithin each limit, %, and medians: s to the first token, ms a token, s end to end, and its P90")
    print(table(["scenario", "req/s", "system", "TTFT", "TPOT", "s", "ms", "e2e", "P90"], times))
    return rows + times


def figure_8(found: SloResults) -> list[list[Any]]:
    """Gains over vLLM V1, and over static budgets."""
    rows = []
    for scenario in found.scenarios:
        best = found.best(scenario)
        base = found.over_rates(scenario, best)
        rows.append([
            scenario, best.removeprefix("static-"), base, *(found.over_rates(scenario, s) for s in SHOWN),
            found.alone(scenario), found.alone(scenario, "ours"),
            found.over_rates(scenario, "lens") / base, found.over_rates(scenario, "ours") / base,
        ])  # fmt: skip
    print("\nFigure 8: means of the rates, %; over V1 where it attains below 90 % (the paper: LENS 2.5, on")
    print("Summarization 3.1); over the best static budget of the scenario")
    columns = [
        "scenario", "best static", "it attains", *SHOWN, "LENS/V1", "ours/V1", "LENS/best", "ours/best",
    ]  # fmt: skip
    print(table(columns, rows))
    one = found.single()
    each = ", ".join(f"{name} {found.overall(name):.1f} %" for name in (one, "lens", "ours-in-order", "ours"))
    print(f"over all scenarios, the best single static budget first: {each}")
    return rows


def figure_10(seeds: Sequence[int], seconds: float) -> list[list[Any]]:
    """From nothing learnt, and after the engine's speed has changed tenfold."""
    rows: list[list[Any]] = []
    for system in ("lens", "ours"):
        ratios = []
        for seed in seeds:
            at_s, cold_s, warm_s = cold_start(system, "FlowGPT-Q", 3.0, seed, max(seconds, 40.0))
            parts = [(at_s >= low) & (at_s < low + 10.0) for low in (0.0, 10.0, 30.0)]
            ratios.append([float(cold_s[part].mean() / warm_s[part].mean()) for part in parts])
        means = np.mean(ratios, axis=0)
        slower = max(followed_s(system, 10.0, seed, seconds) for seed in seeds)
        quicker = max(followed_s(system, 0.1, seed, seconds) for seed in seeds)
        rows.append([system, *means.tolist(), slower, quicker])
    print("\nFigure 10: latency from nothing learnt over that with a model learnt before, of requests that")
    print("come in the first 10 s, from 10 to 20 s, from 30 to 40 s (the paper: alike after 30 s); and s")
    print("until predictions are right again after the engine turns ten times slower or quicker, the longest")
    print(table(["system", "0 s", "10 s", "30 s", "10x slower, s", "10x quicker, s"], rows))
    return rows


def figure_11(found: SloResults, seeds: Sequence[int]) -> list[list[Any]]:
    """R2 with random budgets and with the policy's own, errors, time of a decision."""
    rows: list[list[Any]] = []
    for scenario in found.scenarios:
        rate = found.rates(scenario)[len(found.rates(scenario)) // 2]
        at_random = [accuracy(scenario, rate, seed) for seed in seeds]
        for name, system in (("LENS", "lens"), ("ours", "ours")):
            own = [found.mean(scenario, rate, system, field) for field in ("r2", "error", "decision_ms")]
            rows.append([
                scenario, name, statistics.fmean(a[name].r2 for a in at_random),
                100 * statistics.fmean(a[name].error for a in at_random), own[0], 100 * own[1], own[2],
            ])  # fmt: skip
    print("\nFigure 11: R2 and median error (%) of predictions with random budgets; with the policy's own,")
    print("which make steps alike, so that R2 has little to explain; ms a decision with the simulator's part")
    columns = ["scenario", "model", "R2", "error", "R2, own budgets", "error, own", "ms"]
    print(table(columns, rows))
    return rows


def beyond(found: SloResults) -> list[list[Any]]:
    """An engine whose steps have no edge."""
    rows = []
    for scenario in found.scenarios:
        for rate in found.rates(scenario):
            best = found.best(scenario, rate)
            values = [found.mean(scenario, rate, system) for system in (best, "lens", "ours")]
            rows.append([scenario, rate, best.removeprefix("static-"), *values])
    print("\nBeyond the paper: an engine where reading weights and computing hide each other less, %")
    print(table(["scenario", "req/s", "best tokens", "best static", "LENS", "ours"], rows))
    return rows


def headline_of(found: SloResults, accuracies: Sequence[Sequence[Any]]) -> dict[str, Any]:
    """The figures of the last line."""
    alone = {scenario: found.alone(scenario) for scenario in found.scenarios}
    known = [ratio for ratio in alone.values() if not math.isnan(ratio)]
    ours = {s: found.over_rates(s, "ours") / found.over_rates(s, found.best(s)) for s in found.scenarios}
    lens = {s: found.over_rates(s, "lens") / found.over_rates(s, found.best(s)) for s in found.scenarios}
    at_rates = [
        found.mean(s, rate, "ours") - found.mean(s, rate, found.best(s, rate))
        for s in found.scenarios for rate in found.rates(s)
    ]  # fmt: skip
    single = found.overall(found.single())
    return {
        "lens_alone": round(statistics.fmean(known), 2) if known else None,
        "lens_alone_summarization": round(alone.get("Summarization", math.nan), 2),
        "ours_worst_over_best_static": round(min(ours.values()), 3),
        "lens_worst_over_best_static": round(min(lens.values()), 3),
        "ours_over_single_static": round(found.overall("ours") / single, 3),
        "lens_over_single_static": round(found.overall("lens") / single, 3),
        "ours_worst_points_at_a_rate": round(min(at_rates), 1),
        "least_r2": {
            name: round(min(row[2] for row in accuracies if row[1] == name), 3) for name in ("LENS", "ours")
        },
    }


def main() -> None:
    """Print every figure as a table, save all with a plot, end with one line of JSON."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=5, help="runs of each cell")
    args = parser.parse_args()
    started, seeds = time.perf_counter(), list(range(1, (1 if args.quick else args.seeds) + 1))
    scenarios = ("Coding", "Summarization") if args.quick else tuple(SCENARIOS)
    rates = {s: SCENARIOS[s].rates[1:2] if args.quick else SCENARIOS[s].rates for s in scenarios}
    seconds = QUICK_S if args.quick else SECONDS
    cells = [
        SloCell(s, r, system, seed, seconds=seconds)
        for s in scenarios for r in rates[s] for system in SYSTEMS for seed in seeds
    ]  # fmt: skip
    smooth = [(s, SCENARIOS[s].rates[place]) for s, place in SMOOTH if not args.quick]
    systems = (*ALL_STATIC, "lens", "ours")
    more = [SloCell(s, r, system, seed, "smooth") for s, r in smooth for system in systems for seed in seeds]
    results = run_cells([*cells, *more])
    found = SloResults(results, seeds, scenarios)
    details: dict[str, Any] = {"figure_7": figure_7(found), "figure_8": figure_8(found)}
    details |= {"figure_10": figure_10(seeds[:3], 12.0 if args.quick else 60.0)}
    details |= {"figure_11": figure_11(found, seeds[:3])}
    if smooth:
        details["smooth"] = beyond(SloResults(results, seeds, [s for s, _ in smooth], "smooth"))
    details |= {"seeds": seeds, "by_seed": [[*cell, *result] for cell, result in results.items()]}
    print(f"\n{time.perf_counter() - started:.0f} s of simulation")
    headline = headline_of(found, details["figure_11"])
    finish("slo_simulated", headline, details, args.quick, partial(plot, found))


def plot(found: SloResults, path: Path) -> None:
    """Attainment by rate, a panel a scenario."""
    panels = []
    for scenario in found.scenarios:
        rates = found.rates(scenario)
        lines = {
            "vLLM V1": [found.mean(scenario, rate, BASE) for rate in rates],
            "best static of each rate": [found.mean(scenario, r, found.best(scenario, r)) for r in rates],
            "LENS": [found.mean(scenario, rate, "lens") for rate in rates],
            "ours": [found.mean(scenario, rate, "ours") for rate in rates],
        }
        panels.append(Panel(scenario, {name: (rates, line) for name, line in lines.items()}))
    curves(path, panels, "requests/s", "within both limits, %")


if __name__ == "__main__":
    main()
