"""What loose output caps cost: the default's mean latency with caps of 256 and 1,024 over that with own ones.

The true outputs stay the same; only what each relQuery declares changes. "Own" are the paper's caps (5 to
100 tokens). Nothing is known beforehand: every trace begins with an empty memory of output lengths, so each
template's first relQuery is in the mean. Loads are shares of stock's capacity (see `at_loads`), KV memory is
each machine's own. Simulated, and the same comparison on a real engine with the embedded model.

Beside them stand, simulated too, stock FCFS; the default with caps of 256 that has seen 16 rows of each
template before; and the true clairvoyant: the best of ours and the paper's arrangement, told every row's
length, without a guard.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.at_loads import (
    Draw,
    at_load,
    capacity,
    drawn,
    on_all_cores,
    ours,
    served,
    stock,
    who_has_seen,
)
from benchmarks.claims import Lower, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.outputs import SHAPES
from benchmarks.relquery_engines import (
    CLAIRVOYANTS,
    OURS,
    STOCK,
    EngineWorker,
    SpeedProbe,
    at_speed,
    capacity_in_probes,
    latencies,
    run_steadily,
)
from benchmarks.relquery_workload import CAPS, declared, encoder, one_of_each_kind, relqueries
from benchmarks.simulated_runs import COUNT, MAX_ROWS, SPECS, remembering_encoder
from lab.simulator.workload import lengths_known, retimed
from relserve.policies.scheduling.variants import make

ROOMS = (
    "relserve/policies/model", "relserve/policies/scheduling", "lab/simulator/engine.py",
    "relserve/vllm_plugin",
)  # fmt: skip
HEADLINE = {
    "worst_mean_ratio_simulated": Lower(0.02), "worst_over_clairvoyant": Lower(0.02),
    "worst_mean_ratio_real": Untold("in full runs"),
}  # fmt: skip

LOADS = (1.0, 1.4)
REAL_LOAD, REAL_COUNT = 1.0, 60
OWN, SEEN = "own", "256, seen"
SEEN_CAP, SEEN_ROWS = 256, 16
REAL = "real engine"


class LooseCapsCell(NamedTuple):
    """One setting: machine and load."""

    model: str
    load: float


Means = dict[str, float]  # seconds by declared caps, of STOCK, of SEEN, and of the CLAIRVOYANTS


def serve_all(draw: Draw) -> list[tuple[LooseCapsCell, Means]]:
    """One trace at every load: mean latencies."""
    trace, spec = drawn(draw.model, draw.number, draw.outputs, draw.count), SPECS[draw.model]
    templates = one_of_each_kind(SEEN_ROWS, draw.number, remembering_encoder(), draw.outputs)
    rate = capacity(trace, spec)
    found = []
    for load in draw.loads:
        arriving = at_load(trace, load, rate)
        means = {caps: served(arriving, spec, ours(), cap).mean_s for caps, cap in CAPS.items()}
        seen = who_has_seen(templates, spec, SEEN_CAP)
        means[SEEN] = served(arriving, spec, ours(), SEEN_CAP, seen).mean_s
        known = lengths_known(arriving)
        means |= {name: served(known, spec, make(name)).mean_s for name in CLAIRVOYANTS}
        found.append(
            (LooseCapsCell(draw.model, load), means | {STOCK: served(arriving, spec, stock()).mean_s})
        )
    return found


def measured(seeds: int, count: int) -> list[Means]:
    """The same on a real engine, which forgets all lengths before each trace: means of each trace."""
    encode, workers = encoder(), {name: EngineWorker(name) for name in (STOCK, OURS)}
    for worker in workers.values():
        worker.serve(one_of_each_kind(1, 999, encode))
    probe, found = SpeedProbe(workers[STOCK], encode, MAX_ROWS * 6 // 10), []
    for seed in range(1, seeds + 1):
        trace = relqueries(count, MAX_ROWS, 1.0, seed, encode)
        rate = REAL_LOAD * capacity_in_probes(workers[STOCK], trace, probe)
        arriving = retimed(trace, [rel.arrival_s / rate for rel in trace])
        turns = [(STOCK, STOCK, None), *((OURS, caps, cap) for caps, cap in CAPS.items())]
        means = {}
        for name, caps, cap in turns[seed % len(turns) :] + turns[: seed % len(turns)]:
            run = run_steadily(workers[name], declared(arriving, cap), probe, forget=True)
            means[caps] = float(latencies(at_speed(run, 1.0)).mean())  # in probes' lengths
            print(f"real engine, seed {seed} of {seeds}, {name}, caps {caps}", flush=True)
        found.append(means)
    for worker in workers.values():
        worker.quit()
    probe_s = statistics.median(probe.seconds)
    return [{caps: probe_s * mean for caps, mean in means.items()} for means in found]


def means_of(draws: Iterable[Draw]) -> dict[LooseCapsCell, list[Means]]:
    """Serve all draws; by cell, the means of each trace."""
    found: dict[LooseCapsCell, list[Means]] = defaultdict(list)
    for results in on_all_cores(serve_all, draws):
        for cell, means in results:
            found[cell].append(means)
    return dict(found)


def over_own(traces: Sequence[Means]) -> dict[str, float]:
    """By caps that are not the own ones: the mean over all traces, over that with own caps."""
    own = statistics.mean(means[OWN] for means in traces)
    return {c: statistics.mean(means[c] for means in traces) / own for c in CAPS if c != OWN}


def beside_clairvoyant(found: dict[LooseCapsCell, list[Means]]) -> float:
    """Print ours, with templates seen before, beside the clairvoyant; gives the largest ratio."""
    rows = []
    for cell, traces in found.items():
        seen, *known = (statistics.mean(m[name] for m in traces) for name in (SEEN, *CLAIRVOYANTS))
        rows.append([*cell, seen, min(known), seen / min(known)])
    print("\nSimulated, caps of 256, templates seen before: mean latency, s, beside the clairvoyant's")
    print(table(["machine", "load", SEEN, "clairvoyant", "ratio"], rows))
    return float(max(row[-1] for row in rows))


def show(title: str, found: dict[LooseCapsCell, list[Means]]) -> float:
    """Print a row a machine and load; gives the largest ratio."""
    rows, worst = [], 0.0
    for cell, traces in found.items():
        ratios = over_own(traces)
        spreads = [statistics.pstdev([m[c] / m[OWN] for m in traces]) for c in ratios]
        means = [statistics.mean(m[name] for m in traces) for name in (STOCK, *CAPS)]
        rows.append([*cell, len(traces), *means, *ratios.values(), *spreads])
        worst = max(worst, *ratios.values())
    columns = [*(f"{c} / own" for c in CAPS if c != OWN), *(f"{c} spread" for c in CAPS if c != OWN)]
    print(f"\n{title}: mean latency, s, its ratio to that with own caps, and the ratio's standard deviation")
    print(table(["machine", "load", "traces", STOCK, *CAPS, *columns], rows))
    return worst


def main() -> None:
    """Print the tables, save all, end with one line of JSON."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--draws", type=int, default=16, help="traces of every machine")
    parser.add_argument("--loads", type=float, nargs="+", default=list(LOADS), help="simulated")
    parser.add_argument("--seeds", type=int, default=3, help="traces on the real engine; 0: it is left out")
    parser.add_argument("--outputs", default="uniform", choices=list(SHAPES), help="shape of true lengths")
    args = parser.parse_args()
    count = 40 if args.quick else COUNT
    if args.quick:
        args.draws, args.loads, args.seeds = 2, [1.0], 0
    draws = [Draw(m, n, args.outputs, args.loads, count) for n in range(args.draws) for m in SPECS]
    found = means_of(draws)
    headline: dict[str, Any] = {"worst_mean_ratio_simulated": round(show("Simulated", found), 3)}
    headline["worst_over_clairvoyant"] = round(beside_clairvoyant(found), 3)
    if args.seeds:
        real = {LooseCapsCell(REAL, REAL_LOAD): measured(args.seeds, REAL_COUNT)}
        headline["worst_mean_ratio_real"] = round(show("Real", real), 3)
        found |= real
    details = [{**cell._asdict(), "mean_s": traces} for cell, traces in found.items()]
    finish("loose_caps", headline, details, args.quick, partial(plot, found))


def plot(found: dict[LooseCapsCell, list[Means]], path: Path) -> None:
    """Mean latency over that with own caps, of every machine and load."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(7, 0.4 * len(found) + 1.5))
    names = [f"{cell.model}, {cell.load:g}" for cell in found]
    for caps in (c for c in CAPS if c != OWN):
        axis.plot([over_own(traces)[caps] for traces in found.values()], names, "o", label=caps)
    axis.axvline(1.0, color="black", linestyle=":")
    axis.set_xlabel("mean latency over that with own caps")
    axis.legend(title="declared caps")
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
