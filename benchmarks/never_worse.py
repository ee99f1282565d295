"""Never worse than stock: the default with its guard against FCFS, over declared caps, memory and loads.

Simulated, in every cell of {own caps, 256, 1,024} x {roomy, tight KV memory} x four loads x four machines.
Stock is vLLM V1's FCFS on the same traces; loads are shares of the capacity that it shows, with that memory,
when all relQueries come at once.

Roomy memory is never full. Tight memory holds 8,192 tokens, five of the longest rows: stock then preempts 3
to 6 % of all rows, as the table shows. A cell's figures: our mean latency over stock's; the worst relQuery's
(latency - 1 s) over its own latency under stock; the 99th percentile over stock's, all traces together. The
aims: at most 1, at most 2.5, and at loads up to 1.0 at most 1.15. "late" is the share of relQueries for which
the second is above 2.5.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.at_loads import (
    Draw,
    ServedTrace,
    at_load,
    capacity,
    drawn,
    on_all_cores,
    ours,
    served,
    stock,
    with_memory,
)
from benchmarks.claims import Lower
from benchmarks.common import arguments, finish, table
from benchmarks.outputs import SHAPES
from benchmarks.relquery_workload import CAPS
from benchmarks.simulated_runs import COUNT, SPECS

ROOMS = ("relserve/policies/scheduling", "lab/simulator/engine.py")
HEADLINE = {
    "worst_mean_over_stock": Lower(0.02), "worst_over_own_fcfs": Lower(0.1),
    "worst_late_share": Lower(by=0.01), "worst_p99_over_stock": Lower(0.05),
}  # fmt: skip

MEMORY = {"roomy": 200_000, "tight": 8_192}  # KV tokens
LOADS = (0.5, 0.9, 1.0, 1.4)
SPARED_S = 1.0  # what a relQuery may be late beyond its multiple of stock's latency
PATIENCE = 2.5  # the multiple of stock's latency that the guard promises
P99_UP_TO = 1.0  # the load up to which the 99th percentile has an aim


class NeverWorseCell(NamedTuple):
    """One setting: machine, KV memory, load, declared caps."""

    model: str
    memory: str
    load: float
    caps: str


class TracePair(NamedTuple):
    """One trace under both schedulers."""

    ours: ServedTrace
    stock: ServedTrace


class Figures(NamedTuple):
    """What a cell shows: ratios of ours to stock's, and preempted rows a trace.

    `late`: the share of relQueries that took longer than PATIENCE times their own latency under stock, and
    SPARED_S.
    """

    mean: float
    worst: float
    p99: float
    late: float
    preempted: float
    preempted_stock: float


def serve_all(draw: Draw) -> list[tuple[NeverWorseCell, TracePair]]:
    """One trace in every cell of its machine."""
    trace = drawn(draw.model, draw.number, draw.outputs, draw.count)
    found = []
    for memory, kv_tokens in MEMORY.items():
        spec = with_memory(draw.model, kv_tokens)
        rate = capacity(trace, spec)
        for load in draw.loads:
            arriving = at_load(trace, load, rate)
            base = served(arriving, spec, stock())
            for caps, cap in CAPS.items():
                pair = TracePair(served(arriving, spec, ours(), cap), base)
                found.append((NeverWorseCell(draw.model, memory, load, caps), pair))
    return found


def figures_of(pairs: Sequence[TracePair]) -> Figures:
    """A cell's figures over its traces."""
    mean = sum(pair.ours.mean_s for pair in pairs) / sum(pair.stock.mean_s for pair in pairs)
    sides = list(zip(*pairs, strict=True))
    p99 = [np.percentile([s for each in side for s in each.latency_s.values()], 99) for side in sides]
    preempted = [np.mean([each.num_preemptions for each in side]) for side in sides]
    ratios = [ratio for pair in pairs for ratio in ratios_of(pair)]
    late = float(np.mean([ratio > PATIENCE for ratio in ratios]))
    return Figures(mean, max(ratios), float(p99[0] / p99[1]), late, *map(float, preempted))


def ratios_of(pair: TracePair) -> list[float]:
    """Of each relQuery, (latency - SPARED_S) over its own latency under stock; below 0 counts as 0."""
    base = pair.stock.latency_s
    return [max(0.0, (late_s - SPARED_S) / base[rel]) for rel, late_s in pair.ours.latency_s.items()]


def worst_cells(found: dict[NeverWorseCell, Figures]) -> dict[str, tuple[float, NeverWorseCell]]:
    """Each figure's largest value, and where it is."""
    worst = {
        "worst_mean_over_stock": _largest(found, "mean"),
        "worst_over_own_fcfs": _largest(found, "worst"),
        "worst_late_share": _largest(found, "late"),
    }
    with_aim = {cell: f for cell, f in found.items() if cell.load <= P99_UP_TO}
    return worst | ({"worst_p99_over_stock": _largest(with_aim, "p99")} if with_aim else {})


def _largest(found: dict[NeverWorseCell, Figures], name: str) -> tuple[float, NeverWorseCell]:
    cell = max(found, key=lambda cell: getattr(found[cell], name))
    return float(getattr(found[cell], name)), cell


def show(found: dict[NeverWorseCell, Figures]) -> None:
    """Print a row a machine, memory and load, with three figures for each of the caps."""
    rows = []
    for cell, figures in found.items():
        if cell.caps != next(iter(CAPS)):
            continue
        each = [found[cell._replace(caps=caps)] for caps in CAPS]
        numbers = [getattr(f, name) for name in Figures._fields[:4] for f in each]
        rows.append([*cell[:3], *numbers, figures.preempted_stock, max(f.preempted for f in each)])
    columns = [f"{name} {caps}" for name in Figures._fields[:4] for caps in CAPS]
    print(table(["machine", "memory", "load", *columns, "preempted by stock", "by ours"], rows))


def measure(draws: Iterable[Draw]) -> dict[NeverWorseCell, Figures]:
    """Serve all draws; every cell's figures."""
    pairs: dict[NeverWorseCell, list[TracePair]] = defaultdict(list)
    for results in on_all_cores(serve_all, draws):
        for cell, pair in results:
            pairs[cell].append(pair)
    return {cell: figures_of(each) for cell, each in pairs.items()}


def main() -> None:
    """Print the table and the worst cells, save all, end with one line of JSON."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--draws", type=int, default=16, help="traces of every cell")
    parser.add_argument("--loads", type=float, nargs="+", default=list(LOADS))
    parser.add_argument("--models", nargs="+", default=list(SPECS), choices=list(SPECS))
    parser.add_argument("--outputs", default="uniform", choices=list(SHAPES), help="shape of true lengths")
    args = parser.parse_args()
    count = 40 if args.quick else COUNT
    if args.quick:
        args.draws, args.loads = 2, [1.0, 1.4]
    draws = [Draw(m, n, args.outputs, args.loads, count) for n in range(args.draws) for m in args.models]
    found = measure(draws)
    show(found)
    headline: dict[str, Any] = {}
    for name, (value, cell) in worst_cells(found).items():
        print(f"{name}: {value:.3f} at {', '.join(map(str, cell))}")
        headline[name] = round(value, 3)
    cells = [{**cell._asdict(), **figures._asdict()} for cell, figures in found.items()]
    finish("never_worse", headline, {"cells": cells}, args.quick, partial(plot, found))


def plot(found: dict[NeverWorseCell, Figures], path: Path) -> None:
    """Every cell's mean and worst ratio, a colour for each of the declared caps."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 0.2 * len(found) / len(CAPS) + 2), sharey=True)
    names = list(dict.fromkeys(f"{c.model}, {c.memory}, {c.load:g}" for c in found))
    for axis, name, aim in zip(axes, ("mean", "worst"), (1.0, 2.5), strict=True):
        for caps in CAPS:
            values = [getattr(f, name) for cell, f in found.items() if cell.caps == caps]
            axis.plot(values, names, "o", label=caps)
        axis.axvline(aim, color="black", linestyle=":")
        axis.set_xlabel({"mean": "mean over stock's", "worst": "worst relQuery over its own FCFS"}[name])
    axes[0].legend(title="declared caps")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
