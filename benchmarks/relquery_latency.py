"""relQuery latency on a real engine: stock vLLM (FCFS and static priority), the paper's arrangement, ours.

The same traces are replayed against every engine in one invocation, one run at a time, engines taking turns
(see `relquery_engines`, also for how the machine's speed is reckoned with). The limits are vLLM's own
defaults for offline use, under which stock FCFS is at its best here. Loads are set relative to the capacity
that stock vLLM shows with the same trace, when all its relQueries come at once; the paper's is about 1.4 (its
Table 6: 147 s for 100 s of arrivals).

Caps are declared as users leave them: 256, llm()'s default, for answers of 1 to 100 tokens. No scheduler is
told the true lengths. Stock static priority and the paper's arrangement reckon with that cap; what they are
with the paper's own caps is simulated, or measured with `--variants "vllm priority, own caps"`. The paper's
arrangement is the one with the authors' admission check, which keeps memory free for all outputs, by their
caps. Ours is the default with its guard; it has seen rows of each template before (unless `--unseen`).
"default" is the scheduler alone, in a vLLM that is stock but for it; "local engine" has relserve's worker for
CPUs too, as SQL on this machine gets it. All engines have the allocator's settings that relserve uses.

Beside each variant stands the simulator's figure, with a cost model fitted to the steps of all runs at that
load; below the table the true clairvoyant, simulated (the best of ours and the paper's, told every row's
length, without a guard), and the least mean that any order could reach on a fluid engine of that capacity.
What lies between ours and that bound is split in two: "order" is what remains on an engine whose bases are
spread over its tokens, so that small batches cost no more than their share; "bases" is the rest.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.claims import Higher, Lower, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.outputs import SHAPES
from benchmarks.relquery_engines import (
    KV_TOKENS_PRETRAINED,
    LOCAL,
    OURS,
    OWN_CAPS,
    PAPER,
    STATIC,
    STOCK,
    EngineSetup,
    EngineWorker,
    SpeedProbe,
    as_told,
    at_speed,
    capacity_in_probes,
    run_steadily,
)
from benchmarks.relquery_figures import (
    Interval,
    Replay,
    Runs,
    calibrated,
    interval,
    known_lengths,
    p99,
    ranked_otherwise,
    statistics_of,
)
from benchmarks.relquery_workload import encoder, one_of_each_kind, relqueries
from lab.simulator.workload import RelSpec, retimed
from relserve.engines.local.cpu_plan import num_threads
from relserve.engines.local.gguf_folder import convert
from relserve.machine import packaged
from relserve.machine.capacity import num_cores

ROOMS = ("relserve/policies/scheduling", "relserve/vllm_plugin")
HEADLINE = {
    "vllm_over_default": Higher(0.2, interval=True), "p99_over_vllm": Lower(0.5, interval=True),
    "static_over_default": Untold("in full runs"), "vllm_over_local_engine": Higher(0.2, interval=True),
    "default_over_paper": Lower(0.2, interval=True), "over_clairvoyant": Lower(0.1),
}  # fmt: skip

PRETRAINED = 135_000_000  # parameters of the pretrained model
VARIANTS = (STOCK, STATIC, PAPER, OURS, LOCAL)
QUICK = (STOCK, PAPER, OURS, LOCAL)


class BenchmarkProgress:
    """Says after each run how far the benchmark is."""

    def __init__(self, num_runs: int) -> None:
        self._num_runs, self._num_done, self._began_s = num_runs, 0, time.monotonic()

    def step(self, what: str) -> None:
        """A run is over."""
        self._num_done += 1
        minutes = (time.monotonic() - self._began_s) / 60
        left = minutes / self._num_done * (self._num_runs - self._num_done)
        print(f"run {self._num_done} of {self._num_runs}, {what}; about {left:.0f} min left", flush=True)


def setup(args: argparse.Namespace) -> EngineSetup:
    """The engines of a comparison.

    Raises:
        ModelError: the pretrained model is not installed.
    """
    engine = EngineSetup(args.async_scheduling, args.threads)
    if args.model is None:
        return engine
    packaged.check_installed()
    convert(str(packaged.folder()))
    threads = num_threads(PRETRAINED, num_cores()) if args.threads is None else args.threads
    return engine._replace(
        own_model=str(packaged.folder()), own_name=args.model, own_threads=threads,
        own_kv_tokens=KV_TOKENS_PRETRAINED,
    )  # fmt: skip


class LoadLatencies:
    """One load: its traces with their own caps, and each variant's runs, in seconds of the median speed."""

    def __init__(self, variants: Sequence[str]) -> None:
        self.traces: list[list[RelSpec]] = []
        self.runs: Runs = {variant: [] for variant in variants}

    def at_speed(self, probe_s: float) -> None:
        """Turn probes' lengths into seconds."""
        self.traces = [retimed(trace, [r.arrival_s * probe_s for r in trace]) for trace in self.traces]
        self.runs = {v: [at_speed(run, probe_s) for run in runs] for v, runs in self.runs.items()}


def measure(args: argparse.Namespace) -> tuple[list[float], list[float], dict[float, LoadLatencies]]:
    """Serve every trace at every load with every variant.

    Returns:
        Capacity in relQueries a second by seed; the seconds of all probes; what was measured by load.
    """
    encode, engine = encoder(), setup(args)
    workers = [EngineWorker(v, engine=engine) for v in args.variants]
    warm = one_of_each_kind(args.warm_rows, 999, encode, args.outputs)
    for worker in workers:
        worker.serve(as_told(worker.variant, warm, args.cap))
    probe, capacity = SpeedProbe(workers[0], encode, max(args.max_rows * 6 // 10, 1)), []
    found = {load: LoadLatencies(args.variants) for load in args.loads}
    progress = BenchmarkProgress(args.seeds * len(args.loads) * len(workers))
    for seed in range(args.first_seed, args.first_seed + args.seeds):
        trace = relqueries(args.relqueries, args.max_rows, 1.0, seed, encode, outputs=args.outputs)
        capacity.append(capacity_in_probes(workers[0], trace, probe))
        for load, measured in found.items():
            arriving = retimed(trace, [r.arrival_s / capacity[-1] / load for r in trace])
            measured.traces.append(arriving)
            for worker in workers[seed % len(workers) :] + workers[: seed % len(workers)]:
                told = as_told(worker.variant, arriving, args.cap)
                measured.runs[worker.variant].append(run_steadily(worker, told, probe, args.unseen))
                progress.step(
                    f"seed {seed}, load {load:g}, {worker.variant}, probe {probe.seconds[-1]:.2f} s"
                )
    for worker in workers:
        worker.quit()
    probe_s = statistics.median(probe.seconds)
    for measured in found.values():
        measured.at_speed(probe_s)
    return [per_probe / probe_s for per_probe in capacity], probe.seconds, found


def evaluate(measured: LoadLatencies, capacity: Sequence[float], args: argparse.Namespace) -> dict[str, Any]:
    """What one load's runs show, real and simulated."""
    runs = measured.runs
    kv_tokens = setup(args).kv_tokens
    spec = calibrated([run for v, r in runs.items() if v != LOCAL for run in r], kv_tokens)
    warm = [] if args.unseen else one_of_each_kind(args.warm_rows, 999, encoder(), args.outputs)
    makespans_s = [len(trace) / rate for trace, rate in zip(measured.traces, capacity, strict=True)]
    replay = Replay(spec, warm, measured.traces, makespans_s, args.cap)
    replays = dict.fromkeys(runs, replay)
    if LOCAL in runs:  # its steps take another time
        local = calibrated(runs[LOCAL], kv_tokens)
        replays[LOCAL] = Replay(local, warm, measured.traces, makespans_s, args.cap)
    variants = {v: statistics_of(r) for v, r in runs.items()}
    for variant, found in variants.items():
        found["simulated_s"] = replays[variant].mean_s(variant)
        found["simulated/real"] = found["simulated_s"] / found["mean_s"]
    mean_s = {v: [statistics_of([run])["mean_s"] for run in r] for v, r in runs.items()}
    own = [name + OWN_CAPS for name in (STATIC, PAPER)]
    return {
        "variants": variants, "mean_s_per_seed": mean_s,
        "probe_s_per_seed": {v: [run["probe_s"] for run in r] for v, r in runs.items()},
        "outputs_equal": len({tuple(run["sha"] for run in r) for r in runs.values()}) == 1,
        "leaked_blocks": sum(run["leaked_blocks"] for r in runs.values() for run in r),
        "ratios": ratios(runs), "simulated_own_caps_s": {name: replay.mean_s(name) for name in own},
        "known": known_lengths(replay), "engine": str(spec),
        "ranked_otherwise": ranked_otherwise(mean_s, {v: f["simulated_s"] for v, f in variants.items()}),
    }  # fmt: skip


def ratios(runs: Runs) -> dict[str, Interval]:
    """The ratios that the aims are about, of the variants that were measured."""
    ours, stock = runs.get(OURS, []), runs[STOCK]
    wanted = {
        "vllm_over_default": (stock, ours, np.mean), "p99_over_vllm": (ours, stock, p99),
        "static_over_default": (runs.get(STATIC, []), ours, np.mean),
        "vllm_over_local_engine": (stock, runs.get(LOCAL, []), np.mean),
        "default_over_paper": (ours, runs.get(PAPER, []), np.mean),
    }  # fmt: skip
    return {name: interval(a, b, statistic) for name, (a, b, statistic) in wanted.items() if a and b}


def show(load: float, found: dict[str, Any]) -> None:
    """Print one load's tables."""
    variants, known = found["variants"], found["known"]
    base = variants[STOCK]
    rows = [
        [v, *f.values(), base["mean_s"] / f["mean_s"], f["p99_s"] / base["p99_s"]]
        for v, f in variants.items()
    ]
    print(f"\nload {load:g}, outputs equal: {found['outputs_equal']}")
    print(table(["variant", *base, "mean: vllm/this", "p99: this/vllm"], rows))
    for name, ratio in found["ratios"].items():
        print(f"{name}: {ratio}")
    print("simulated with the paper's own caps, mean, s:", found["simulated_own_caps_s"])
    print("ranked otherwise by the simulator, and how likely by chance:", found["ranked_otherwise"])
    told = [
        ["ours", known["ours_s"], None],
        ["every length known, no guard", known["clairvoyant_s"], None],
        ["ours, bases spread over the work", known["without_bases_s"], None],
        ["any order, on a fluid engine", known["fluid_s"], known["fluid_p99_s"]],
    ]
    print(table(["simulated", "mean_s", "p99_s"], told))
    print(
        f"ours is {known['over_clairvoyant']:.3f} of the clairvoyant; above the fluid bound it is "
        f"{known['bases_s']:.3g} s by bases and {known['order_s']:.3g} s by order",
        flush=True,
    )


def options() -> argparse.Namespace:
    """The command line; a quick run has smaller numbers."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--loads", type=float, nargs="+", default=[1.0, 1.4])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first-seed", type=int, default=1, help="further draws, in a file of their own")
    parser.add_argument("--relqueries", type=int, default=100)
    parser.add_argument("--max-rows", type=int, default=100)
    parser.add_argument("--cap", type=int, default=256, help="that every relQuery declares")
    parser.add_argument("--outputs", default="uniform", choices=list(SHAPES), help="shape of true lengths")
    parser.add_argument("--warm-rows", type=int, default=16, help="of each template, served beforehand")
    parser.add_argument("--unseen", action="store_true", help="no template was seen before a trace")
    parser.add_argument("--model", choices=[packaged.NAME], help="a real model instead (`make smollm2`)")
    parser.add_argument("--threads", type=int, help="of each engine, instead of what relserve chooses")
    parser.add_argument("--async-scheduling", action="store_true", help="vLLM plans a step ahead")
    parser.add_argument("--variants", nargs="+", help=f"beside {STOCK}; else those of the aims")
    args = parser.parse_args()
    args.variants = list(dict.fromkeys([STOCK, *(args.variants or (QUICK if args.quick else VARIANTS))]))
    if args.quick:
        args.loads, args.seeds, args.relqueries, args.max_rows = args.loads[-1:], 2, 16, 16
        args.warm_rows = 2
    return args


def main() -> None:
    """Print a table a load, save all, and end with one line of JSON."""
    args = options()
    capacity, probes, measured = measure(args)
    print(f"the machine's speed: probe {min(probes):.2f} to {max(probes):.2f} s")
    loads: dict[str, Any] = {}
    for load, each in measured.items():
        loads[f"{load:g}"] = evaluate(each, capacity, args)
        show(load, loads[f"{load:g}"])
    headline: dict[str, Any] = {
        name: {load: [round(x, 3) for x in found["ratios"][name]] for load, found in loads.items()}
        for name in next(iter(loads.values()))["ratios"]
    }
    headline["over_clairvoyant"] = {k: round(f["known"]["over_clairvoyant"], 3) for k, f in loads.items()}
    details = {"capacity_relqueries_a_second": capacity, "probes_s": probes, "loads": loads}
    name = "relquery_latency" + setup(args).suffix
    name += f"_from_seed_{args.first_seed}" * (args.first_seed > 1)
    finish(name, headline, details, args.quick, partial(plot, details))


def plot(details: dict[str, Any], path: Path) -> None:
    """Mean latency of each variant, split into its phases, a group a load."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(details["loads"]), figsize=(5 * len(details["loads"]), 4), squeeze=False
    )
    for axis, (load, found) in zip(axes[0], details["loads"].items(), strict=True):
        names = list(found["variants"])
        bottom = np.zeros(len(names))
        for phase in ("waiting_s", "core_s", "tail_s"):
            values = np.array([found["variants"][n][phase] for n in names])
            axis.barh(names, values, left=bottom, label=phase.removesuffix("_s"))
            bottom += values
        known = {"clairvoyant_s": ("--", "every length known"), "fluid_s": (":", "any order, fluid engine")}
        for key, (style, label) in known.items():
            axis.axvline(found["known"][key], linestyle=style, color="black", label=f"{label} (simulated)")
        axis.set_title(f"load {load}")
        axis.set_xlabel("mean relQuery latency, s")
        axis.invert_yaxis()
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="lower center", ncols=5)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
