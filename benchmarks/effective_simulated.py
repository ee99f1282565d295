"""Apt-Serve's effective throughput, simulated: Figures 8, 9 and 11, Tables 4 and 5, with the paper's numbers.

Beside the paper's systems: the absorbed path, fp8 keys and values, and ours. `attained`
counts requests whose time to first token and P99 of the times between tokens are within the paper's limits,
`strict` those of which every gap is. vLLM is its engine V0, as in the paper: prompts first, apart from
decodes. Step times are derived from published hardware figures, lengths are of other traces than the paper's;
see `effective_models` and `effective/lengths`. 1,000 requests a workload, as in the paper.

The rate that a system sustains at 90 % is ill-conditioned: two points of attainment move it far. So
attainment at fixed rates is printed too, with what the metric does not see. The systems that neither the
paper nor a claim of ours needs run with --all only.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.claims import Higher, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.effective.attainment import Attainment
from benchmarks.effective_paper import (
    FIGURE_9_RATES,
    OVER_SARATHI,
    OVER_VLLM,
    SETS,
    TABLES_4_AND_5,
    VARIATIONS,
    VLLM_CHAT_90,
)
from benchmarks.effective_runs import (
    CORE,
    GOALS,
    LARGE_CHUNK,
    LEVELS,
    MAIN,
    SYSTEMS,
    EffectiveSetting,
    EffectiveSize,
    EffectiveSystem,
    Place,
    Point,
    RateSearch,
    run_points,
    run_searches,
)

ROOMS = ("relserve/policies/caching", "relserve/policies/model", "lab/simulator/requests")
HEADLINE = {
    "published_90": Untold("the paper's system"), "steady_90": Higher(0.02), "steady_90_strict": Higher(0.02),
    "steady_over_sarathi_90": Higher(0.02), "steady_over_sarathi_90_strict": Higher(0.02),
    "steady_over_fp8_90": Higher(0.02),
    "ours_90": Untold("its variant is gone"), "ours_90_strict": Untold("its variant is gone"),
    "ours_over_sarathi_90": Untold("its variant is gone"), "ours_over_fp8_90": Untold("its variant is gone"),
    "ours_over_sarathi_90_strict": Untold("its variant is gone"),
    "absorbed_fcfs_90": Untold("first come, first served"), "fcfs_most_percent": Untold("vLLM's"),
    "apt_kv_over_fcfs_cv_10_least": Untold("the paper's system"),
    "reproject_points_sharegpt": Untold("the paper's system"),
    "reproject_points_sharegpt_strict": Untold("the paper's system"),
}  # fmt: skip

ONE = "OPT-13B"
RATES = {
    "sharegpt": (2.6, 4.0, 6.0), "chat": (2.6, 4.0, 6.0), "code": (12.0, 15.0, 20.0),
    "summarisation": (0.8, 1.5, 3.0), "meetings": (1.0, 1.5, 3.0),
}  # fmt: skip
FIGURE_9 = ("vLLM", "Sarathi", "Apt", "Apt-S", "absorbed steady")
PUBLISHED, STEADY, RIVAL = "Apt", "absorbed steady", "fp8 steady"
QUICK = (*MAIN, "absorbed FCFS", RIVAL)  # as many as the headline compares
ABLATION = {
    "fcfs": EffectiveSystem("fcfs", "kv"),
    "kv": EffectiveSystem("apt-kv", "kv"),
    "hybrid": EffectiveSystem("apt", "reproject"),
}


class Searched:
    """The rates that were found; of a system with several settings, that of the best one for each goal."""

    def __init__(self, found: dict[Place, RateSearch]) -> None:
        self._found = found
        self.places = list(dict.fromkeys((model, data) for model, data, _ in found))

    def best(self, model: str, data: str, name: str) -> tuple[EffectiveSystem, RateSearch]:
        """A system's best setting at 90 %, and what was found for it."""
        each = [(system, self._found[model, data, system]) for system in self._settings(model, data, name)]
        return max(each, key=lambda pair: pair[1].rates["attained", 0.9])

    def _settings(self, model: str, data: str, name: str) -> list[EffectiveSystem]:
        return [system for system in SYSTEMS[name] if (model, data, system) in self._found]

    def has(self, model: str, data: str, name: str) -> bool:
        """Whether a system was searched there."""
        return any((model, data, system) in self._found for system in SYSTEMS[name])

    def rate(self, model: str, data: str, name: str, metric: str, level: float) -> float:
        """Requests a second."""
        rates = [self._found[model, data, system].rates for system in self._settings(model, data, name)]
        return max(found[metric, level] for found in rates)

    def ratio(self, model: str, data: str, name: str, metric: str, level: float, over: str = "vLLM") -> float:
        """A system's rate over another's, by the same metric."""
        return self.rate(model, data, name, metric, level) / self.rate(model, data, over, metric, level)


def figure_8(searched: Searched) -> list[dict[str, Any]]:
    """Rates sustained, and their ratios to vLLM's."""
    rows = []
    for model, data in searched.places:
        for name in [name for name in SYSTEMS if searched.has(model, data, name)]:
            system, found = searched.best(model, data, name)
            ratios = {key: searched.ratio(model, data, name, *key) for key in found.rates}
            rows.append({
                "model": model, "data": data, "name": name, "chunk": system.chunk,
                "rate": {f"{m} {at}": searched.rate(model, data, name, m, at) for m, at in found.rates},
                "over_vllm": {f"{m} {level}": ratio for (m, level), ratio in ratios.items()},
            })  # fmt: skip
    columns = [f"{metric} {level}" for metric, level in GOALS]
    print("Figure 8: requests a second sustained at 90 and 60 %, and as multiples of vLLM's")
    cells = [
        [r["model"], r["data"], r["name"], r["chunk"] or "-", *(r["rate"].get(c, "-") for c in columns),
         *(r["over_vllm"].get(c, "-") for c in columns)]
        for r in rows
    ]  # fmt: skip
    print(table(["model", "lengths", "system", "chunk", *columns, *(f"x {c}" for c in columns)], cells))
    return rows


def beside_the_paper(searched: Searched) -> list[list[Any]]:
    """Section 6.3's ratios, means of the models, beside those found here."""
    rows = []
    for data in dict.fromkeys(data for _, data in searched.places if data in SETS):
        models = [model for model, its in searched.places if its == data]
        for over, paper in (("vLLM", OVER_VLLM), ("Sarathi", OVER_SARATHI)):
            for level in LEVELS:
                here = statistics.fmean(
                    searched.ratio(m, data, PUBLISHED, "attained", level, over) for m in models
                )
                rows.append([SETS[data], f"{level:.0%}", over, here, paper[level][data]])
    print("\nApt-Serve's rate over that of another, mean of the models; the paper's from its text")
    print(table(["data", "level", "over", "here", "the paper"], rows))
    if (ONE, "sharegpt") in searched.places:
        here = searched.rate(ONE, "sharegpt", "vLLM", "attained", 0.9)
        print(f"vLLM on ShareGPT at 90 %: {here:.2f} requests/s; the paper (section 3.1): {VLLM_CHAT_90}")
    return rows


def best_of(searched: Searched, data: str, name: str) -> EffectiveSystem:
    """A system's setting that was best at 90 % on one model."""
    return searched.best(ONE, data, name)[0]


def fixed_points(
    searched: Searched, rates: dict[str, tuple[float, ...]]
) -> dict[tuple[str, float, str], Point]:
    """All systems at fixed rates, Poisson arrivals."""
    return {
        (data, rate, name): (EffectiveSetting(ONE, data, rate, 1.0), best_of(searched, data, name))
        for data in rates for rate in rates[data] for name in SYSTEMS if searched.has(ONE, data, name)
    }  # fmt: skip


def figure_11(points: dict[tuple[str, float, str], Point], at: dict[Point, Attainment]) -> list[list[Any]]:
    """Attainment at fixed rates, and what the metric does not see."""
    rows = [[*key, *_shown(at[point])] for key, point in points.items()]
    print(f"\nFigure 11 and more: attainment (%) at fixed rates, {ONE}; the paper's is a figure")
    print("without numbers, in which Apt-S is above Apt, and both above Sarathi and vLLM")
    print(table(["lengths", "rate", "system", *SHOWN], rows))
    return rows


SHOWN = ("attained", "strict", "finished/s", "p99 s", "worst ttft s")


def _shown(found: Attainment) -> list[float]:
    return [100 * found.attained, 100 * found.strict, found.finished_per_s, found.p99_s, found.worst_ttft_s]


def burst_points(searched: Searched, data_sets: Sequence[str]) -> dict[tuple[str, float, str], Point]:
    """Figure 9's rates under Gamma arrivals."""
    return {
        (data, cv, name): (
            EffectiveSetting(ONE, data, FIGURE_9_RATES[data], cv),
            best_of(searched, data, name),
        )
        for data in data_sets
        for cv in VARIATIONS
        for name in FIGURE_9
        if searched.has(ONE, data, name)
    }


def figure_9(points: dict[tuple[str, float, str], Point], at: dict[Point, Attainment]) -> list[list[Any]]:
    """Attainment under bursts."""
    rows = [
        [data, FIGURE_9_RATES[data], cv, name, *_shown(at[point])]
        for (data, cv, name), point in points.items()
    ]
    print("\nFigure 9: attainment (%) by the variation of the gaps; the paper's is a figure without numbers")
    print(table(["lengths", "rate", "cv", "system", *SHOWN], rows))
    return rows


def ablation_points(data_sets: Sequence[str]) -> dict[tuple[str, float, float, str], Point]:
    """Tables 4 and 5."""
    return {
        (*cell, name): (EffectiveSetting(ONE, *cell), system)
        for cell in TABLES_4_AND_5 if cell[0] in data_sets for name, system in ABLATION.items()
    }  # fmt: skip


def tables_4_and_5(
    points: dict[tuple[str, float, float, str], Point], at: dict[Point, Attainment]
) -> list[dict[str, Any]]:
    """FCFS, Apt-Serve with KV alone, and hybrid, each beside the paper's; then the strict count."""
    rows = []
    for cell in dict.fromkeys(key[:3] for key in points):
        each = {name: at[points[*cell, name]] for name in ABLATION}
        rows.append({
            "cell": cell,
            "attained": {name: 100 * found.attained for name, found in each.items()},
            "strict": {name: 100 * found.strict for name, found in each.items()},
            "paper": TABLES_4_AND_5[cell]._asdict(),
        })  # fmt: skip
    print("\nTables 4 and 5: attainment (%), with the paper's")
    columns = [f"{name}{suffix}" for name in ABLATION for suffix in ("", ", paper", ", strict")]
    cells = [
        [*r["cell"], *(r[kind][name] for name in ABLATION for kind in ("attained", "paper", "strict"))]
        for r in rows
    ]
    print(table(["lengths", "rate", "cv", *columns], cells))
    return rows


def headline_of(searched: Searched, cells: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One model: ratios to vLLM by set of lengths; the collapse, and what reprojection adds on ShareGPT."""
    data_sets = [data for model, data in searched.places if model == ONE and data in SETS]

    def over(name: str, metric: str, other: str = "vLLM") -> dict[str, float]:
        return {d: round(searched.ratio(ONE, d, name, metric, 0.9, other), 2) for d in data_sets}

    def gain(kind: str) -> float:
        added = [c[kind]["hybrid"] - c[kind]["kv"] for c in cells if c["cell"][0] == "sharegpt"]
        return round(statistics.fmean(added), 1)

    bursts = [c["attained"]["kv"] / c["attained"]["fcfs"] for c in cells if c["cell"][2] == max(VARIATIONS)]
    return {
        "published_90": over(PUBLISHED, "attained"),
        "steady_90": over(STEADY, "attained"),
        "steady_90_strict": over(STEADY, "strict"),
        "steady_over_sarathi_90": over(STEADY, "attained", "Sarathi"),
        "steady_over_sarathi_90_strict": over(STEADY, "strict", "Sarathi"),
        "absorbed_fcfs_90": over("absorbed FCFS", "attained"),
        "steady_over_fp8_90": over(STEADY, "attained", RIVAL),
        "fcfs_most_percent": round(max(c["attained"]["fcfs"] for c in cells), 1),
        "apt_kv_over_fcfs_cv_10_least": round(min(bursts), 2),
        "reproject_points_sharegpt": gain("attained"),
        "reproject_points_sharegpt_strict": gain("strict"),
    }


def places(names: Iterable[str], models: Sequence[str], data_sets: Sequence[str]) -> list[Place]:
    """What rates are searched for."""
    systems = [system for name in names for system in SYSTEMS[name]]
    return [(model, data, system) for model in models for data in data_sets for system in systems]


def main() -> None:
    """Print every table, save all with a plot, end with one line of JSON."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=1, help="workloads at each rate of the search")
    parser.add_argument("--processes", type=int, help="at a time; without it as many as there are cores")
    parser.add_argument("--all", action="store_true", help="every system; without it those of the claims")
    parser.add_argument("--more", action="store_true", help="real chat and meetings, by the main systems")
    args = parser.parse_args()
    size, names, data_sets = EffectiveSize(), tuple(SYSTEMS) if args.all else CORE, tuple(SETS)
    larger, more = ("OPT-30B", "OPT-66B"), ("chat", "meetings") if args.more else ()
    if args.quick:
        size, names, data_sets, larger, more = EffectiveSize(200, (1,)), QUICK, ("sharegpt",), (), ()
    started, size_of_search = time.perf_counter(), replace(size, seeds=tuple(range(1, args.seeds + 1)))
    of_larger = [place for place in places(MAIN, larger, data_sets) if place[2].chunk in (0, LARGE_CHUNK)]
    wanted = [*places(names, [ONE], data_sets), *places(MAIN, [ONE], more), *of_larger]
    searched = Searched(run_searches(wanted, size_of_search, args.processes))
    fixed = fixed_points(searched, {data: RATES[data] for data in (*data_sets, *more)})
    bursts, ablation = burst_points(searched, data_sets), ablation_points(data_sets)
    at = run_points([*fixed.values(), *bursts.values()], replace(size, seeds=size.seeds[:1]), args.processes)
    at |= run_points(ablation.values(), size, args.processes)
    eight = figure_8(searched)
    details: dict[str, Any] = {"figure_8": eight, "beside_the_paper": beside_the_paper(searched)}
    details |= {"figure_11": figure_11(fixed, at), "figure_9": figure_9(bursts, at)}
    cells = tables_4_and_5(ablation, at)
    details |= {"tables_4_and_5": cells, "size": asdict(size), "seeds_of_search": args.seeds}
    print(f"\n{time.perf_counter() - started:.0f} s of simulation")
    headline = headline_of(searched, cells)
    finish("effective_simulated", headline, details, args.quick, partial(plot, details["figure_11"]))


def plot(rows: Sequence[Sequence[Any]], path: Path) -> None:
    """Attainment by rate, a panel a set of lengths; dashed: every gap counts."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    data_sets = list(dict.fromkeys(row[0] for row in rows))
    figure, axes = plt.subplots(1, len(data_sets), figsize=(4.5 * len(data_sets), 4), squeeze=False)
    for axis, data in zip(axes[0], data_sets, strict=True):
        for i, name in enumerate(("vLLM", "Sarathi", "Apt KV", PUBLISHED, "absorbed FCFS", STEADY, RIVAL)):
            mine = [row for row in rows if row[0] == data and row[2] == name]
            axis.plot([row[1] for row in mine], [row[3] for row in mine], f"C{i}.-", label=name)
            axis.plot([row[1] for row in mine], [row[4] for row in mine], f"C{i}--", linewidth=0.8)
        axis.set_title(f"{data}, {ONE}")
        axis.set_xlabel("requests/s")
        axis.set_ylabel("within limits, % (dashed: every gap)")
    axes[0][0].legend(fontsize="x-small")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
