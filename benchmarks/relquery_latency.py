"""relQuery latency on a real engine: stock vLLM (FCFS and static priority) and every variant of ours.

The same traces are replayed against every engine in one invocation, one run at a time, engines taking turns
so that a slow minute of the machine hits all. Loads are set relative to the capacity that stock vLLM shows
when all relQueries of the trace come at once. Beside each stands the simulator's figure, with a cost model
fitted to the steps of all runs at that load, and the clairvoyant bound.
"""

from __future__ import annotations

import json
import pickle
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import RESULTS, arguments, finish, table
from benchmarks.relquery_worker import BLOCK_SIZE
from benchmarks.relquery_workload import encoder, relqueries
from relserve.policies.cost import CostModel, fit
from relserve.policies.state import Limits
from relserve.policies.variants import DEFAULT, make
from relserve.simulator.engine import EngineSpec
from relserve.simulator.run import clairvoyant, simulate
from relserve.simulator.workload import RelSpec, retimed
from relserve.vllm_plugin.settings import SchedulerSettings

GUARDED = {f"{DEFAULT} guarded": SchedulerSettings().patience}  # the others run without a guard
VARIANTS = (
    "vllm", "vllm priority", "dpu+pp", "dpu+dp", "dpu+aba", "dpu+mixed", DEFAULT, *GUARDED
)  # fmt: skip
MAX_NUM_SEQS, MAX_TOKENS, KV_TOKENS = 64, 1024, 12_000


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
    """
    steps = np.array([step for run in runs for step in run["steps"]])
    cost = fit(steps)
    scale = steps[:, 2].sum() / sum(cost.step(tokens, decodes) for tokens, decodes, _ in steps)
    cost = CostModel(*(float(scale * value) for value in astuple(cost)))
    limits = Limits(MAX_NUM_SEQS, MAX_TOKENS, KV_TOKENS, BLOCK_SIZE)
    a_row_s = statistics.median(run["arrival_s_a_row"] for run in runs)
    return EngineSpec(cost, limits, arrival_s_a_row=a_row_s)


def simulated(variant: str, traces: list[list[RelSpec]], spec: EngineSpec) -> float:
    """Mean latency of a variant in the simulator, in seconds; "clairvoyant" knows the output lengths."""
    if variant == "clairvoyant":
        variant, traces = DEFAULT, [clairvoyant(t) for t in traces]
    name = {"vllm": "fcfs", "vllm priority": "static"}.get(variant, variant.removesuffix(" guarded"))
    policies = [make(name, patience=GUARDED.get(variant, 0.0)) for _ in traces]
    return statistics.mean(
        simulate(t, spec, policy).mean_s for t, policy in zip(traces, policies, strict=True)
    )


def main() -> None:
    """Print a table a load, save all, and end with one line of JSON."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--loads", type=float, nargs="+", default=[0.9, 1.0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--relqueries", type=int, default=100)
    parser.add_argument("--max-rows", type=int, default=100)
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS))
    args = parser.parse_args()
    if args.quick:
        args.loads, args.seeds, args.relqueries, args.max_rows = [1.0], 1, 12, 20
        args.variants = ["vllm", "vllm priority", "dpu+aba", *VARIANTS[-2:]]
    encode = encoder()
    workers = [Worker(v) for v in args.variants]
    warm_up = relqueries(6, 10, 1e6, 999, encode)
    for worker in workers:
        worker.serve(warm_up)
    seeds = range(1, args.seeds + 1)
    traces = {s: relqueries(args.relqueries, args.max_rows, 1.0, s, encode) for s in seeds}
    capacity = {
        s: args.relqueries / workers[0].serve(retimed(t, [0.0] * args.relqueries))["makespan_s"]
        for s, t in traces.items()
    }
    shown = ", ".join(f"{c:.2f}" for c in capacity.values())
    print(f"capacity of stock vLLM by trace, all at once: {shown} relQueries/s", flush=True)
    details: dict[str, Any] = {"capacity": capacity, "loads": {}}
    headline: dict[str, Any] = {}
    for load in args.loads:
        at_load = {s: retimed(t, [r.arrival_s / (load * capacity[s]) for r in t]) for s, t in traces.items()}
        runs: dict[str, list[dict[str, Any]]] = {w.variant: [] for w in workers}
        for seed in seeds:
            for worker in workers[seed % len(workers) :] + workers[: seed % len(workers)]:
                runs[worker.variant].append(worker.serve(at_load[seed]))
        found = {variant: statistics_of(r) for variant, r in runs.items()}
        shas = {tuple(run["sha"] for run in r) for r in runs.values()}
        spec = calibrated([run for r in runs.values() for run in r])
        in_simulator = {v: simulated(v, list(at_load.values()), spec) for v in (*found, "clairvoyant")}
        for v, f in found.items():
            f["simulated_s"] = in_simulator[v]
            f["simulated/real"] = in_simulator[v] / f["mean_s"]
        columns = list(next(iter(found.values())))
        base = found["vllm"]["mean_s"]
        rows = [[v, *f.values(), base / f["mean_s"]] for v, f in found.items()]
        print(
            f"\nload {load}, {args.seeds} seeds of {args.relqueries} relQueries, "
            f"outputs equal: {len(shas) == 1}"
        )
        print(table(["variant", *columns, "vllm/this"], rows))
        clair = in_simulator["clairvoyant"]
        print(f"clairvoyant, simulated with the fitted cost model: mean {clair:.3f} s", flush=True)
        per_seed = {v: [statistics_of([run])["mean_s"] for run in r] for v, r in runs.items()}
        details["loads"][str(load)] = {
            "variants": found, "mean_s_per_seed": per_seed, "outputs_equal": len(shas) == 1,
            "clairvoyant_s": clair, "engine": str(spec),
            "leaked_blocks": sum(run["leaked_blocks"] for r in runs.values() for run in r),
        }  # fmt: skip
        headline[f"load_{load}"] = {v: [f["mean_s"], f["p99_s"]] for v, f in found.items()}
    for worker in workers:
        worker.quit()
    finish("relquery_latency", headline, details, args.quick)
    if not args.quick:
        plot(details, RESULTS / "relquery_latency.png")


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
        axis.axvline(found["clairvoyant_s"], linestyle="--", color="black", label="clairvoyant (simulated)")
        axis.set_title(f"load {load}")
        axis.set_xlabel("mean relQuery latency, s")
        axis.invert_yaxis()
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="lower center", ncols=4)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
