"""Admission that protects limits on latency, simulated: SABER's Figures 1, 3, 5, 6 and 7, and the paper's.

Requests of Table I in three mixes at 1 to 20 a second, 100 a run as in the paper, on one simulated engine
(see `admission_runs` for its constants): ten static limits, SABER as published with each of its curves, and
ours. Goodput is the share of requests that end within their limit. `over_best_single_static` is ours over
the one static limit that is best over all mixes and loads, `worst_below_best` how many points ours is below
the best of the ten limits of a mix and a load, at worst, where that one was chosen afterwards on the same
requests.

On a real engine: `admission_engine`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.admission_runs import (
    BEST_LIMIT,
    CV,
    GAIN_AT_20,
    GOODPUT,
    LOADS,
    MIXES,
    PUBLISHED,
    R2,
    STATIC,
    SWEEP_GAIN,
    SYSTEMS,
    W2_GAIN,
    AdmissionCell,
    AdmissionResult,
    best_static,
    fitted,
    run_cells,
)
from benchmarks.claims import Higher, Lower, Untold
from benchmarks.common import arguments, finish, table

ROOMS = ("relserve/policies/admission", "lab/simulator/admission")
HEADLINE = {
    "over_best_single_static": Higher(0.01), "worst_below_best": Lower(by=0.5),
    "most_above_best": Higher(by=0.5), "published_over_best_single_static": Untold("the paper's rule"),
    "published_worst_below_best": Untold("the paper's rule"),
    "published_most_above_best": Untold("the paper's rule"),
    "cv_ours_and_static": Untold("three loads tell no variation over loads"),
}  # fmt: skip

SHOWN = ("SABER", "ours")
LONG = 400  # requests of the runs beyond the paper's


class AdmissionResults:
    """All results, by mix, load and system."""

    def __init__(self, results: dict[AdmissionCell, AdmissionResult], loads: Sequence[float]) -> None:
        self._results, self.loads = results, loads

    def goodput(self, mix: str, rate: float, system: str) -> float:
        """Percent."""
        return self._results[AdmissionCell(mix, rate, system)].goodput

    def ratio(self, mix: str, rate: float, system: str) -> float:
        """Mean latency over its limit."""
        return self._results[AdmissionCell(mix, rate, system)].ratio

    def best(self, mix: str, rate: float) -> str:
        """The static limit that was best there, chosen afterwards."""
        return best_static(lambda system: self.goodput(mix, rate, system))

    def mean(self, system: str, mixes: Sequence[str] = tuple(MIXES)) -> float:
        """Goodput over mixes and all loads."""
        return statistics.fmean(self.goodput(m, rate, system) for m in mixes for rate in self.loads)

    def single(self, mixes: Sequence[str] = tuple(MIXES)) -> str:
        """The one static limit that is best over mixes and all loads."""
        return best_static(lambda system: self.mean(system, mixes))

    def mean_of_best(self, mix: str) -> float:
        """Goodput of the best static limit of each load."""
        return statistics.fmean(self.goodput(mix, rate, self.best(mix, rate)) for rate in self.loads)

    def variation(self, mix: str, system: str | None) -> float:
        """Variation over loads of the mean ratio (Eq. 1), percent; None: each load's best limit."""
        ratios = [self.ratio(mix, rate, system or self.best(mix, rate)) for rate in self.loads]
        return 100 * statistics.pstdev(ratios) / statistics.fmean(ratios)

    def below_best(self, system: str) -> dict[tuple[str, float], float]:
        """Points above the best static limit of each mix and load; negative where below."""
        return {
            (mix, rate): self.goodput(mix, rate, system) - self.goodput(mix, rate, self.best(mix, rate))
            for mix in MIXES for rate in self.loads
        }  # fmt: skip


def figure_1(found: AdmissionResults) -> list[list[Any]]:
    """Goodput by static limit and load, and the best limits."""
    rows = []
    for mix in MIXES:
        rows += [[mix, rate, *(found.goodput(mix, rate, s) for s in STATIC)] for rate in found.loads]
    print("Figure 1: goodput (%) by static limit; the paper's is a figure without numbers")
    print(table(["mix", "req/s", *(s.removeprefix("static ") for s in STATIC)], rows))
    best = [[mix, found.single([mix]).removeprefix("static "), BEST_LIMIT[mix]] for mix in MIXES]
    print(table(["mix", "best limit over all loads", "the paper's"], best))
    return rows


def figure_3(found: AdmissionResults) -> list[list[Any]]:
    """Goodput at 5, 10 and 20 requests a second."""
    rows = []
    for mix in MIXES:
        for rate in [rate for rate in (5, 10, 20) if rate in found.loads]:
            best = found.best(mix, rate)
            rows.append([
                mix, rate, best.removeprefix("static "), found.goodput(mix, rate, best),
                *(found.goodput(mix, rate, s) for s in SHOWN), *GOODPUT.get((mix, rate), (None, None)),
            ])  # fmt: skip
    print("\nFigure 3: goodput (%); the paper's numbers where its text has them")
    columns = ["mix", "req/s", "best limit", "best static", *SHOWN, "best static, paper", "SABER, paper"]
    print(table(columns, rows))
    return rows


def figure_5(found: AdmissionResults) -> list[list[Any]]:
    """Gains over the best static limit of each load, and over one for all loads of a mix."""
    rows = []
    for mix in MIXES:
        gain = {s: found.mean(s, [mix]) - found.mean_of_best(mix) for s in SHOWN}
        top = max(found.loads)
        best = found.goodput(mix, top, found.best(mix, top))
        at_top = {s: found.goodput(mix, top, s) - best for s in SHOWN}
        one = found.mean(found.single([mix]), [mix])
        over = {s: found.mean(s, [mix]) - one for s in SHOWN}
        rows.append([
            mix, *gain.values(), SWEEP_GAIN[mix], *at_top.values(), GAIN_AT_20[mix], *over.values()
        ])  # fmt: skip
    print("\nFigure 5: points of goodput over the best static limit of each load: mean of all loads, and at")
    print("the highest; then over the one limit that is best for the mix")
    columns = [
        "mix", "SABER", "ours", "paper", "SABER, highest", "ours, highest", "paper, highest",
        "SABER over one", "ours over one",
    ]  # fmt: skip
    print(table(columns, rows))
    return rows


def figure_6(found: AdmissionResults) -> list[list[Any]]:
    """Ratios of latency to limit at the ends of the sweep, and their variation."""
    rows = []
    for mix in MIXES:
        low, top = min(found.loads), max(found.loads)
        ratios = [found.ratio(mix, top, s) for s in (found.best(mix, top), *SHOWN)]
        variation = [found.variation(mix, s) for s in (None, found.single([mix]), *SHOWN)]
        rows.append([mix, found.ratio(mix, low, "ours"), *ratios, *variation, *CV[mix]])
    print("\nFigure 6: mean of latency over limit at the lowest load (ours) and the highest; its variation")
    print("over loads (%): the static limit best at each load, one for the mix, SABER, ours")
    columns = [
        "mix", "lowest", "static", "SABER", "ours", "CV best", "CV one", "CV SABER", "CV ours",
        "CV static, paper", "CV SABER, paper",
    ]  # fmt: skip
    print(table(columns, rows))
    return rows


def figure_7(found: AdmissionResults) -> list[list[Any]]:
    """The three curves, their R2, and the gains of SABER with each."""
    rows: list[list[Any]] = []
    for system, (kind, from_first) in PUBLISHED.items():
        gains = [found.mean(system, [mix]) - found.mean_of_best(mix) for mix in MIXES]
        paper = (R2[kind], W2_GAIN[kind]) if from_first else (None, None)
        rows.append([system, kind, fitted(kind, from_first).r2, paper[0], *gains, paper[1]])
    print("\nFigure 7: SABER's curves: R2, and points over each load's best static limit, mean of all loads")
    print(table(["system", "curve", "R2", "R2, paper", *MIXES, "W2, paper"], rows))
    return rows


def beyond(results: dict[AdmissionCell, AdmissionResult], cells: Sequence[AdmissionCell]) -> list[list[Any]]:
    """Longer runs, an engine whose speed the load does not tell, one that turns ten times slower."""
    groups = dict.fromkeys((c.engine, c.mix, c.rate) for c in cells)
    systems = list(dict.fromkeys(c.system for c in cells if c.system not in STATIC))
    rows = []
    for engine, mix, rate in groups:
        at = {s: results[AdmissionCell(mix, rate, s, LONG, engine)] for s in (*STATIC, *systems)}
        best = best_static(lambda system, at=at: at[system].goodput)
        rows.append([
            engine, mix, rate, best.removeprefix("static "), at[best].goodput,
            *(at[s].goodput for s in systems), 100 * at["ours"].estimate_error,
        ])  # fmt: skip
    print(f"\nBeyond the paper: {LONG} requests; an erratic engine; one ten times slower from 30 to 150 s")
    print(table(["engine", "mix", "req/s", "best limit", "static", *systems, "error of estimates %"], rows))
    return rows


def beyond_cells(quick: bool) -> list[AdmissionCell]:
    """What `beyond` shows."""
    places = [(mix, rate) for mix in ("W3", "W1") for rate in (5.0, 8.0)]
    places = [("steady", *place) for place in places] + [("erratic", "W3", 5.0), ("tenth", "W3", 3.0)]
    places = places[:1] if quick else places
    systems = (*STATIC, "SABER", "ours", "ours cold")
    return [
        AdmissionCell(mix, rate, system, LONG, engine) for engine, mix, rate in places for system in systems
    ]


def headline_of(found: AdmissionResults) -> dict[str, Any]:
    """Ours, and the published rule by the same measures."""
    one, head = found.single(), {}
    for name, system in (("", "ours"), ("published_", "SABER")):
        points = found.below_best(system)
        head[f"{name}over_best_single_static"] = round(found.mean(system) / found.mean(one), 3)
        head[f"{name}worst_below_best"] = round(max(0.0, -min(points.values())), 1)
        head[f"{name}most_above_best"] = round(max(points.values()), 1)
    cvs = {mix: (found.variation(mix, "ours"), found.variation(mix, None)) for mix in MIXES}
    head["cv_ours_and_static"] = {mix: [round(cv, 1) for cv in pair] for mix, pair in cvs.items()}
    return head


def main() -> None:
    """Print every figure as a table, save all with a plot, end with one line of JSON."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=10, help="runs of each cell")
    args = parser.parse_args()
    loads: Sequence[float] = LOADS
    if args.quick:
        loads, args.seeds = (2, 10, 20), min(args.seeds, 1)
    started, seeds = time.perf_counter(), range(1, args.seeds + 1)
    more = beyond_cells(args.quick)
    cells = [AdmissionCell(mix, rate, system) for mix in MIXES for rate in loads for system in SYSTEMS]
    results = run_cells(cells, seeds) | run_cells(more, seeds[:2])
    found = AdmissionResults(results, loads)
    details: dict[str, Any] = {"figure_1": figure_1(found), "figure_3": figure_3(found)}
    details |= {"figure_5": figure_5(found), "figure_6": figure_6(found), "figure_7": figure_7(found)}
    details |= {"beyond": beyond(results, more), "seeds": list(seeds)}
    details["by_seed"] = [[*cell, *result] for cell, result in results.items()]
    print(f"\n{time.perf_counter() - started:.0f} s of simulation")
    finish("admission", headline_of(found), details, args.quick, partial(plot, found))


def plot(found: AdmissionResults, path: Path) -> None:
    """Figure 5: goodput by load, a panel a mix."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(MIXES), figsize=(4.5 * len(MIXES), 4), squeeze=False)
    for axis, mix in zip(axes[0], MIXES, strict=True):
        one = found.single()
        for label, name in (("one static limit", one), ("SABER", "SABER"), ("ours", "ours")):
            line = [found.goodput(mix, rate, name) for rate in found.loads]
            axis.plot(found.loads, line, ".-", label=label)
        best = [found.goodput(mix, rate, found.best(mix, rate)) for rate in found.loads]
        axis.plot(found.loads, best, "k--", linewidth=0.8, label="the best limit of each load")
        axis.set_title(mix)
        axis.set_xlabel("requests/s")
        axis.set_ylabel("within their limits, %")
    axes[0][0].legend(fontsize="x-small")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
