"""The RelServe paper's experiments in the simulator: Figures 9 to 12 and Table 6, at the paper's scale.

100 relQueries of 1 to 100 rows from the paper's templates over the shared tables (PDMX is not to be had),
Poisson arrivals, three models. For every setting (a model, a table, a rate) several traces are drawn: other
rows, other order, other outputs, other arrivals; all policies serve the same ones. A figure is the mean over
the traces, with its standard deviation from trace to trace.

"vllm" and "static" (vLLM-SP) run exclusive steps with prefill first, as in the paper; "sarathi" mixes chunked
prefills into decode steps. "checked" admits a row only if its memory at full output fits, as the code
published with the paper does. "ours" is without a guard against starvation, "ours guarded" with the default
one. "longest known" is the better of ours and the paper's, told each relQuery's longest true output; "lengths
known" the best of them told the true output length of every row.

"least" is a mean that no order can beat under these assumptions: the engine works on one relQuery after the
other, interrupts them for free, always does as much in a second as ours does with full batches when all
relQueries come at once, and knows every output length (SRPT on a fluid engine).
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.claims import Higher, Lower, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.relquery_workload import ARRIVALS, TABLES
from benchmarks.simulated_runs import LEAST, MODELS, Found, PolicyRun, TraceSetting, run_all, virtual_s_a_s
from relserve.policies.scheduling.variants import DEFAULT
from relserve.vllm_plugin.settings import SchedulerSettings

ROOMS = ("relserve/policies/model", "relserve/policies/scheduling", "lab/simulator/engine.py")
HEADLINE = {
    "settings": Untold("a size"), "traces_a_setting": Untold("a size"),
    "vllm_over_ours_top_rate": Higher(0.02), "static_over_ours_top_rate": Higher(0.02),
    "static_checked_over_ours_top_rate": Higher(0.02), "ours_over_aba": Lower(0.02),
    "ours_over_aba_checked": Lower(0.02), "ours_over_longest_known_top_rate": Lower(0.02),
    "ours_over_clairvoyant_top_rate": Lower(0.02), "guarded_over_ours_top_rate": Lower(0.02),
    "vllm_over_least_top_rate": Untold("no order's"), "settings_ours_below_aba": Higher(),
    "vllm_over_ours_spread": Untold("of two traces"), "virtual_s_a_s": Higher(0.4, timed=True),
}  # fmt: skip

ABA, OURS = "dpu+aba", "ours"
POLICIES = {
    "vllm": PolicyRun("fcfs+pp"), "sarathi": PolicyRun("fcfs"),
    "static": PolicyRun("static+pp"), "static checked": PolicyRun("static+pp", keeps_outputs_free=True),
    "aba": PolicyRun(ABA), "aba checked": PolicyRun(ABA, keeps_outputs_free=True),
    OURS: PolicyRun(DEFAULT), "ours guarded": PolicyRun(DEFAULT, patience=SchedulerSettings().patience),
}  # fmt: skip
TOLD = {
    "longest known": [PolicyRun(DEFAULT, told="longest"), PolicyRun(ABA, told="longest")],
    "lengths known": [
        PolicyRun(DEFAULT, told="lengths"), PolicyRun(ABA, told="lengths"),
        PolicyRun(ABA, told="lengths", keeps_outputs_free=True),
    ],
}  # fmt: skip
BEST = {**{name: [run] for name, run in POLICIES.items()}, **TOLD, LEAST: [PolicyRun(LEAST)]}
RATIOS = {
    "vllm_over_ours": ("vllm", OURS), "static_over_ours": ("static", OURS),
    "static_checked_over_ours": ("static checked", OURS), "ours_over_aba": (OURS, "aba"),
    "ours_over_aba_checked": (OURS, "aba checked"), "ours_over_longest_known": (OURS, "longest known"),
    "ours_over_clairvoyant": (OURS, "lengths known"), "guarded_over_ours": ("ours guarded", OURS),
    "vllm_over_least": ("vllm", LEAST),
}  # fmt: skip
AT_ALL_RATES = ("ours_over_aba", "ours_over_aba_checked")
FIGURE_10 = ("dpu+pp", "dpu+dp", ABA, DEFAULT)
FIGURE_11 = ("static+pp", ABA, DEFAULT)
THRESHOLDS_S = (0.0, 1.0, 0.5, 0.3, 0.2, 0.1)  # Eq. 13, seconds of waiting per row; 0: no guard
PATIENCE = (3.0, 2.5, 2.0, 1.5, 1.0)  # ours, in predicted FCFS latencies
GUARDS = [(threshold_s, 0.0) for threshold_s in THRESHOLDS_S] + [(0.0, patience) for patience in PATIENCE]
OTHER_ARRIVALS = {name: POLICIES[name] for name in ("vllm", "sarathi", "static", "aba", OURS, "ours guarded")}
ONE = ("OPT-13B", "beer")
# The paper's one mean latency of FCFS in its text, with that of its own arrangement (section 1, seconds).
PAPER_SETTING, PAPER_S = ("OPT-13B", "rotten", 1.0), {"vllm": 35.0, "aba": 13.0}
TABLE_6_E2E_S = {0.5: 202.2, 0.6: 171.1, 0.7: 158.1, 0.8: 156.4, 0.9: 152.6, 1.0: 146.7}


class Shown:
    """The figures of all runs, and what the tables want of them."""

    def __init__(self, found: Found) -> None:
        self.found = found

    def each(self, setting: TraceSetting, run: PolicyRun, name: str = "mean_s") -> list[float]:
        """One figure of every trace."""
        return [figures[name] for figures in self.found[setting][run]]

    def mean(self, setting: TraceSetting, run: PolicyRun, name: str = "mean_s") -> float:
        """One figure, over all traces."""
        return statistics.mean(self.each(setting, run, name))

    def best(self, setting: TraceSetting, column: str) -> list[float]:
        """Mean latencies, a trace each, of the run that is best among those of a column."""
        return min((self.each(setting, run) for run in BEST[column]), key=statistics.mean)

    def ratio(self, setting: TraceSetting, name: str) -> tuple[float, float]:
        """A ratio of mean latencies, and the standard deviation of the ratio from trace to trace."""
        above, below = (self.best(setting, column) for column in RATIOS[name])
        ratios = [a / b for a, b in zip(above, below, strict=True)]
        return statistics.mean(above) / statistics.mean(below), statistics.stdev(ratios)


def figure_9(shown: Shown, settings: Sequence[TraceSetting]) -> list[dict[str, Any]]:
    """Every setting's mean latencies and ratios, each with its spread."""
    return [
        {
            "setting": setting[:3],
            "mean_s": {c: _with_spread(shown.best(setting, c)) for c in BEST},
            "ratios": {name: shown.ratio(setting, name) for name in RATIOS},
        }
        for setting in settings
    ]


def _with_spread(values: Sequence[float]) -> tuple[float, float]:
    return statistics.mean(values), statistics.stdev(values)


def show_figure_9(rows: Sequence[dict[str, Any]]) -> None:
    """Print the latencies, then the ratios."""
    print("Figure 9: mean relQuery latency, s, and its standard deviation over traces")
    cells = [[*r["setting"], *(f"{m:.3g} ±{s:.2g}" for m, s in r["mean_s"].values())] for r in rows]
    print(table(["model", "data", "rate", *BEST], cells))
    print("\nRatios of mean latencies, and their standard deviation over traces")
    cells = [[*r["setting"], *(f"{m:.2f} ±{s:.2f}" for m, s in r["ratios"].values())] for r in rows]
    print(table(["model", "data", "rate", *(name.replace("_over_", "/") for name in RATIOS)], cells))


def beside_the_paper(shown: Shown, settings: Sequence[TraceSetting]) -> list[list[Any]]:
    """Seconds at the one setting with figures in the paper's text: here, the spread, there."""
    setting = TraceSetting(*PAPER_SETTING)
    if setting not in settings:
        return []
    rows = [[v, *_with_spread(shown.each(setting, POLICIES[v])), paper_s] for v, paper_s in PAPER_S.items()]
    print(f"\nMean latency beside the paper's, s: {', '.join(map(str, PAPER_SETTING))} relQueries/s")
    print(table(["variant", "here", "spread", "the paper"], rows))
    return rows


def headline_of(rows: Sequence[dict[str, Any]], num_draws: int) -> dict[str, Any]:
    """Each ratio's range over the settings, most at the highest rate only; in how many ours is below ABA."""
    top_rate = max(row["setting"][2] for row in rows)
    found: dict[str, Any] = {"settings": len(rows), "traces_a_setting": num_draws}
    for name in RATIOS:
        at_all = name in AT_ALL_RATES
        ratios = [row["ratios"][name][0] for row in rows if at_all or row["setting"][2] == top_rate]
        found[name if at_all else f"{name}_top_rate"] = [round(min(ratios), 3), round(max(ratios), 3)]
    found["settings_ours_below_aba"] = sum(row["ratios"]["ours_over_aba"][0] < 1 for row in rows)
    found["vllm_over_ours_spread"] = round(statistics.mean(r["ratios"]["vllm_over_ours"][1] for r in rows), 3)
    return found


def figures_10_to_12(shown: Shown, rates: Sequence[float]) -> dict[str, Any]:
    """One model and table: arrangements, phases, overhead and end-to-end time, thresholds."""
    at = {rate: TraceSetting(*ONE, rate) for rate in rates}
    ten = [[rate, *(shown.mean(s, PolicyRun(p)) for p in FIGURE_10)] for rate, s in at.items()]
    phases = ("waiting_s", "core_s", "tail_s")
    eleven = [
        [rate, p, *(shown.mean(s, PolicyRun(p), phase) for phase in phases)]
        for rate, s in at.items() for p in FIGURE_11
    ]  # fmt: skip
    overhead = [
        [
            rate,
            *(shown.mean(s, PolicyRun(ABA), name) for name in ("policy_s", "end_s")),
            TABLE_6_E2E_S.get(rate),
        ]
        for rate, s in at.items()
    ]
    guards = [
        [rate, *guard, *(shown.mean(s, PolicyRun(DEFAULT, *guard), name) for name in ("mean_s", "max_s"))]
        for rate, s in at.items() for guard in GUARDS
    ]  # fmt: skip
    print("\nFigure 10: mean latency by arrangement, s")
    print(table(["rate", *FIGURE_10], ten))
    print("\nFigure 11: phases, s")
    print(table(["rate", "variant", *phases], eleven))
    print("\nTable 6: DPU and ABA together, and end to end, s")
    print(table(["rate", f"{ABA}_s", "e2e_s", "e2e_paper_s"], overhead))
    print("\nFigure 12: ours by Eq. 13's threshold, s a row, and by our patience (0: none)")
    print(table(["rate", "threshold_s", "patience", "mean_s", "max_s"], guards))
    return {"figure_10": ten, "figure_11": eleven, "table_6": overhead, "figure_12": guards}


def other_arrivals(shown: Shown, rates: Sequence[float]) -> list[list[Any]]:
    """One model and table, when relQueries come in bursts or as in a public trace."""
    rows = [
        [a, r, *(shown.mean(TraceSetting(*ONE, r, a), run) for run in OTHER_ARRIVALS.values())]
        for a in ARRIVALS for r in rates
    ]  # fmt: skip
    print("\nMean latency by arrivals, s")
    print(table(["arrivals", "rate", *OTHER_ARRIVALS], rows))
    return rows


def wanted(settings: Sequence[TraceSetting], rates: Sequence[float]) -> list[tuple[TraceSetting, PolicyRun]]:
    """All runs that the tables need."""
    nine = [(setting, run) for setting in settings for runs in BEST.values() for run in runs]
    single = [PolicyRun(p) for p in (*FIGURE_10, *FIGURE_11)] + [
        PolicyRun(DEFAULT, *guard) for guard in GUARDS
    ]
    ten_to_twelve = [(TraceSetting(*ONE, rate), run) for rate in rates for run in single]
    others = [
        (TraceSetting(*ONE, r, a), run) for a in ARRIVALS for r in rates for run in OTHER_ARRIVALS.values()
    ]
    return nine + ten_to_twelve + others


def main() -> None:
    """Print every table, save all with a plot, end with one line of JSON."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--rates", type=float, nargs="+", default=[0.5, 0.7, 0.9, 1.0, 1.2])
    parser.add_argument("--draws", type=int, default=10, help="traces of every setting, at least 2")
    args = parser.parse_args()
    models, tables, rates, num_draws = list(MODELS), list(TABLES), args.rates, max(args.draws, 2)
    if args.quick:
        models, tables, rates, num_draws = ["OPT-13B"], ["beer"], [1.0], 2
    settings = [TraceSetting(m, d, r) for m in models for d in tables for r in rates]
    shown = Shown(run_all(wanted(settings, rates), num_draws))
    rows = figure_9(shown, settings)
    show_figure_9(rows)
    details: dict[str, Any] = {"figure_9": rows, "beside_the_paper": beside_the_paper(shown, settings)}
    details |= figures_10_to_12(shown, rates) | {"arrivals": other_arrivals(shown, rates)}
    details["cost_models"] = {model: str(MODELS[model].spec) for model in models}
    speeds = virtual_s_a_s(shown.found)
    print("\nVirtual seconds simulated a second of one process, policy included")
    print(table(["variant", "virtual_s_a_s"], [list(pair) for pair in speeds.items()]))
    details["virtual_s_a_s"] = speeds
    headline = headline_of(rows, num_draws) | {"virtual_s_a_s": round(speeds["all"])}
    finish("relquery_simulated", headline, details, args.quick, partial(plot, rows))


def plot(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Figure 9: a panel a model and table; bars show the standard deviation of ours over traces."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    models = list(dict.fromkeys(row["setting"][0] for row in rows))
    tables = list(dict.fromkeys(row["setting"][1] for row in rows))
    size = (4 * len(tables), 3 * len(models))
    figure, axes = plt.subplots(len(models), len(tables), figsize=size, squeeze=False)
    for i, model in enumerate(models):
        for k, name in enumerate(tables):
            mine = [row for row in rows if row["setting"][:2] == (model, name)]
            _panel(axes[i][k], mine, f"{model}, {name}")
    axes[0][0].legend(fontsize="x-small")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def _panel(axis: Any, rows: Sequence[dict[str, Any]], title: str) -> None:
    rates = [row["setting"][2] for row in rows]
    for column in BEST:
        means, spreads = zip(*(row["mean_s"][column] for row in rows), strict=True)
        style = {"lengths known": "k--", "longest known": "k-.", LEAST: "k:"}.get(column, ".-")
        axis.errorbar(rates, means, spreads if column == OURS else None, fmt=style, label=column, capsize=2)
    axis.set_title(title)
    axis.set_xlabel("relQueries/s")
    axis.set_ylabel("mean latency, s")


if __name__ == "__main__":
    main()
