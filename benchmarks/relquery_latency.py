"""relQuery latency on a real engine: stock vLLM (FCFS and static priority) and every variant of ours.

The same traces are replayed against every engine in one invocation, one run at a time, engines taking turns.
The limits are vLLM's own defaults for offline use, under which stock FCFS is at its best here (at the same
arrivals 5 % below 128 requests and 2048 tokens, 15 % below 64 and 1024). Loads are set relative to the
capacity that stock vLLM shows with the same trace, when all its relQueries come at once.

The machine's speed moves (here by tens of percent within minutes), which near load 1 would decide the result.
So a short trace on the stock engine, before and after every run, tells the speed of the moment: arrivals are
stretched by what it takes, which keeps the load what it says, and all times are given in seconds of the
median speed. A run during which the speed moved by more than STEADY is repeated.

Beside each variant stands the simulator's figure, with a cost model fitted to the steps of all runs at that
load; below the table ours without its guard, simulated, where it is told each relQuery's longest output or
every row's, and the least mean that any order could reach on an engine of that capacity (SRPT on a fluid
engine: every step is full, work can be divided at will, and all lengths are known).
"""

from __future__ import annotations

import argparse
import json
import pickle
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ttest_rel

from benchmarks.common import arguments, finish, table
from benchmarks.relquery_worker import BLOCK_SIZE
from benchmarks.relquery_workload import Encode, encoder, relqueries
from relserve.policies.cost import CostModel, fit
from relserve.policies.scheduling.state import Limits
from relserve.policies.scheduling.variants import DEFAULT, make
from relserve.simulator.bound import jobs_of, shortest_first
from relserve.simulator.engine import EngineSpec
from relserve.simulator.run import simulate
from relserve.simulator.workload import RelSpec, lengths_known, longest_known, retimed
from relserve.vllm_plugin.settings import SchedulerSettings

GUARDED = {f"{DEFAULT} guarded": SchedulerSettings().patience}  # the others run without a guard
VARIANTS = ("vllm", "vllm priority", "dpu+pp", "dpu+dp", "dpu+aba", DEFAULT, *GUARDED)
MAX_NUM_SEQS, MAX_TOKENS, KV_TOKENS = 256, 4096, 200_000
STEADY, TRIES = 0.1, 3  # relative change of the probe beyond which a run is repeated; runs at most


class Worker:
    """An engine in a process of its own; `settings` are of relserve's scheduler."""

    def __init__(self, variant: str, settings: Mapping[str, Any] | None = None) -> None:
        settings = {"patience": GUARDED.get(variant, 0.0)} if settings is None else settings
        command = [
            sys.executable, "-m", "benchmarks.relquery_worker", "--variant", variant.removesuffix(" guarded"),
            "--max-num-seqs", str(MAX_NUM_SEQS), "--max-tokens", str(MAX_TOKENS),
            "--kv-tokens", str(KV_TOKENS),
            "--settings", json.dumps(settings),
        ]  # fmt: skip
        self.variant = variant
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._read()

    def serve(self, trace: list[RelSpec]) -> dict[str, Any]:
        """Replay a trace."""
        with tempfile.NamedTemporaryFile(suffix=".trace") as file:
            pickle.dump(trace, file)
            file.flush()
            self._tell({"trace": file.name})
            return self._read()

    def quit(self) -> None:
        """End the process."""
        self._tell({"quit": 1})
        self._process.wait(30)

    def _tell(self, command: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the engine of {self.variant!r} ended")
        answer: dict[str, Any] = json.loads(line)
        return answer


def statistics_of(runs: list[dict[str, Any]]) -> dict[str, float]:
    """Latency statistics in seconds over all relQueries of several runs, and mean phases."""
    rels = np.array([r for run in runs for r in run["rels"].values()])
    latency = rels[:, 1]
    found = {"mean_s": latency.mean(), "max_s": latency.max()}
    found |= {f"p{q}_s": np.percentile(latency, q) for q in (50, 95, 99)}
    found |= {name: rels[:, 2 + i].mean() for i, name in enumerate(("waiting_s", "core_s", "tail_s"))}
    found["preemptions"] = sum(run["preemptions"] for run in runs)
    found["policy_share"] = sum(run["policy_s"] for run in runs) / sum(run["makespan_s"] for run in runs)
    return {name: round(float(value), 4) for name, value in found.items()}


def calibrated(runs: list[dict[str, Any]]) -> EngineSpec:
    """The simulator's engine, fitted to all measured steps.

    The fit is scaled so that the total is right: slow steps, which a robust fit leaves out, are time too.
    Rows' arrivals, which the simulator charges by themselves, are no part of it.
    """
    steps = np.array([step for run in runs for step in run["steps"]])
    arriving_s = sum(run["arrival_s_a_row"] * sum(r[0] for r in run["rels"].values()) for run in runs)
    cost = fit(steps)
    scale = (steps[:, 2].sum() - arriving_s) / sum(cost.step(tokens, decodes) for tokens, decodes, _ in steps)
    cost = CostModel(*(float(scale * value) for value in astuple(cost)))
    limits = Limits(MAX_NUM_SEQS, MAX_TOKENS, KV_TOKENS, BLOCK_SIZE)
    a_row_s = statistics.median(run["arrival_s_a_row"] for run in runs)
    return EngineSpec(cost, limits, arrival_s_a_row=a_row_s)


def simulated(variant: str, traces: list[list[RelSpec]], spec: EngineSpec) -> float:
    """Mean latency of a variant in the simulator, in seconds."""
    name = {"vllm": "fcfs", "vllm priority": "static"}.get(variant, variant.removesuffix(" guarded"))
    policies = [make(name, patience=GUARDED.get(variant, 0.0)) for _ in traces]
    return statistics.mean(
        simulate(t, spec, policy).mean_s for t, policy in zip(traces, policies, strict=True)
    )


Runs = dict[str, list[dict[str, Any]]]  # by variant, one a seed


class Probe:
    """The machine's speed of the moment: what the stock engine takes for a short trace, in seconds."""

    def __init__(self, worker: Worker, encode: Encode) -> None:
        self._worker, self._trace = worker, at_once(relqueries(16, 60, 1.0, 998, encode))
        self.seconds: list[float] = []

    def take(self) -> float:
        """Measure it."""
        self.seconds.append(self._worker.serve(self._trace)["makespan_s"])
        return self.seconds[-1]


def at_once(trace: list[RelSpec]) -> list[RelSpec]:
    """The trace with all relQueries at time 0."""
    return retimed(trace, [0.0] * len(trace))


def run_steadily(worker: Worker, trace: list[RelSpec], probe: Probe) -> dict[str, Any]:
    """Serve a trace whose arrivals are in probes' lengths; of up to TRIES, the run of the steadiest speed."""
    tries = []
    for _ in range(TRIES):
        before = probe.seconds[-1]
        run = worker.serve(retimed(trace, [r.arrival_s * before for r in trace]))
        after = probe.take()
        moved = abs(after / before - 1)
        tries.append((moved, run | {"probe_s": (before + after) / 2}))
        if moved < STEADY:
            break
    return min(tries, key=lambda each: each[0])[1]


def at_speed(run: dict[str, Any], probe_s: float) -> dict[str, Any]:
    """A run's times in seconds of a machine on which the probe takes `probe_s`."""
    factor = probe_s / run["probe_s"]
    rels = {k: [rows, *(factor * x for x in times)] for k, (rows, *times) in run["rels"].items()}
    steps = [[tokens, decodes, factor * x] for tokens, decodes, x in run["steps"]]
    seconds = {name: factor * run[name] for name in ("makespan_s", "policy_s", "arrival_s_a_row")}
    return run | seconds | {"rels": rels, "steps": steps}


def measure(args: argparse.Namespace) -> tuple[list[float], list[float], dict[float, list[Any]]]:
    """Serve every trace at every load with every variant.

    Returns:
        Capacity in relQueries a second by seed; the seconds of all probes; by load the traces, and the runs
        of each variant. Times are of the median speed.
    """
    encode = encoder()
    workers = [Worker(v) for v in args.variants]
    for worker in workers:
        worker.serve(relqueries(6, 10, 1e6, 999, encode))
    probe, in_probes = Probe(workers[0], encode), []
    found: dict[float, list[Any]] = {load: [[], {v: [] for v in args.variants}] for load in args.loads}
    for seed in range(1, args.seeds + 1):
        trace = relqueries(args.relqueries, args.max_rows, 1.0, seed, encode)
        probe.take()
        makespan_s = workers[0].serve(at_once(trace))["makespan_s"]
        in_probes.append(2 * makespan_s / (probe.seconds[-1] + probe.take()))
        for load, (traces, runs) in found.items():
            stretch = in_probes[-1] / len(trace) / load
            traces.append(retimed(trace, [r.arrival_s * stretch for r in trace]))
            for worker in workers[seed % len(workers) :] + workers[: seed % len(workers)]:
                runs[worker.variant].append(run_steadily(worker, traces[-1], probe))
        print(f"seed {seed}: probe {probe.seconds[-1]:.2f} s", flush=True)
    for worker in workers:
        worker.quit()
    probe_s = statistics.median(probe.seconds)
    for each in found.values():
        each[0] = [retimed(trace, [r.arrival_s * probe_s for r in trace]) for trace in each[0]]
        each[1] = {v: [at_speed(run, probe_s) for run in runs] for v, runs in each[1].items()}
    return [args.relqueries / (probe_s * length) for length in in_probes], probe.seconds, found


def evaluate(traces: list[list[RelSpec]], runs: Runs, capacity: Sequence[float]) -> dict[str, Any]:
    """What one load's runs show, real and simulated."""
    spec = calibrated([run for r in runs.values() for run in r])
    variants = {v: statistics_of(r) for v, r in runs.items()}
    for variant, found in variants.items():
        found["simulated_s"] = simulated(variant, traces, spec)
        found["simulated/real"] = found["simulated_s"] / found["mean_s"]
    least = [
        latency
        for trace, rate in zip(traces, capacity, strict=True)
        for latency in shortest_first(jobs_of(trace, spec.cost, BLOCK_SIZE, len(trace) / rate))
    ]
    evaluated = {
        "variants": variants,
        "probe_s_per_seed": {v: [run["probe_s"] for run in r] for v, r in runs.items()},
        "mean_s_per_seed": {v: [statistics_of([run])["mean_s"] for run in r] for v, r in runs.items()},
        "outputs_equal": len({tuple(run["sha"] for run in r) for r in runs.values()}) == 1,
        "leaked_blocks": sum(run["leaked_blocks"] for r in runs.values() for run in r),
        "longest_known_s": simulated(DEFAULT, list(map(longest_known, traces)), spec),
        "lengths_known_s": simulated(DEFAULT, list(map(lengths_known, traces)), spec),
        "srpt_s": statistics.mean(least),
        "srpt_p99_s": float(np.percentile(least, 99)), "engine": str(spec),
    }  # fmt: skip
    return evaluated | {"ranked_otherwise": ranked_otherwise(evaluated)}


def ranked_otherwise(found: dict[str, Any]) -> list[tuple[str, str, float | None]]:
    """Pairs of variants that the simulator ranks otherwise than the engine.

    With each pair the p-value of a paired t-test over the seeds: how likely so large a difference of the real
    means is between equals; of that pair alone, not of the some twenty together. None for a single seed.
    """
    real, pairs = found["mean_s_per_seed"], []
    for one, other in combinations(real, 2):
        means = [(found["variants"][v]["mean_s"], found["variants"][v]["simulated_s"]) for v in (one, other)]
        if (means[0][0] < means[1][0]) != (means[0][1] < means[1][1]):
            p_value = None
            if len(real[one]) > 1:
                p_value = round(float(ttest_rel(real[one], real[other]).pvalue), 3)
            pairs.append((one, other, p_value))
    return pairs


def show(load: float, found: dict[str, Any], stock: str) -> None:
    """Print one load's table."""
    variants = found["variants"]
    base = variants[stock]
    rows = [
        [v, *f.values(), base["mean_s"] / f["mean_s"], f["p99_s"] / base["p99_s"]]
        for v, f in variants.items()
    ]
    print(f"\nload {load}, outputs equal: {found['outputs_equal']}")
    print(table(["variant", *base, "mean: vllm/this", "p99: this/vllm"], rows))
    print("ranked otherwise by the simulator, and how likely by chance:", found["ranked_otherwise"])
    told = [
        ["ours, longest known", found["longest_known_s"], None],
        ["ours, lengths known", found["lengths_known_s"], None],
        ["any order, on a fluid engine", found["srpt_s"], found["srpt_p99_s"]],
    ]
    print(table(["outputs known beforehand, simulated", "mean_s", "p99_s"], told), flush=True)


def main() -> None:
    """Print a table a load, save all, and end with one line of JSON."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--loads", type=float, nargs="+", default=[0.9, 1.0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--relqueries", type=int, default=50)
    parser.add_argument("--max-rows", type=int, default=100)
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), help="the first gives the capacity")
    args = parser.parse_args()
    if args.quick:
        args.loads, args.seeds, args.relqueries, args.max_rows = [1.0], 1, 12, 20
        args.variants = ["vllm", "vllm priority", "dpu+aba", *VARIANTS[-2:]]
    capacity, probes, measured = measure(args)
    details: dict[str, Any] = {"capacity_relqueries_a_second": capacity, "probes_s": probes, "loads": {}}
    print(f"the machine's speed: probe {min(probes):.2f} to {max(probes):.2f} s")
    headline: dict[str, Any] = {}
    for load, (traces, runs) in measured.items():
        found = evaluate(traces, runs, capacity)
        show(load, found, args.variants[0])
        details["loads"][str(load)] = found
        headline[f"load_{load}"] = {v: [f["mean_s"], f["p99_s"]] for v, f in found["variants"].items()}
    finish("relquery_latency", headline, details, args.quick, partial(plot, details))


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
        for key, style in (("longest_known_s", "--"), ("lengths_known_s", ":")):
            label = f"ours, {key.removesuffix('_s').replace('_', ' ')} (simulated)"
            axis.axvline(found[key], linestyle=style, color="black", label=label)
        axis.set_title(f"load {load}")
        axis.set_xlabel("mean relQuery latency, s")
        axis.invert_yaxis()
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="lower center", ncols=5)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
