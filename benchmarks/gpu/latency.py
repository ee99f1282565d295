"""relQuery latency on one GPU: stock vLLM (FCFS, static priority), the paper's arrangement and ours in turns.

As `relquery_latency`, on one engine whose scheduler is exchanged (see `exchange`), with dummy weights: every
seed's capacity is what stock FCFS shows when all its relQueries come at once, and loads are set relative to
it. Every relQuery declares llm()'s default cap. After each run the file is written anew; a run begins only if
the time left holds one as long as the longest so far. Models run without torch.compile, decodes as graphs, at
most 256 rows at once; with `--stock`, they run as `vllm serve` runs them when it is told nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")

from benchmarks.common import table
from benchmarks.gpu.exchange import SchedulerExchange, start
from benchmarks.gpu.shapes import SHAPES
from benchmarks.gpu.traces import GpuTraces, load
from benchmarks.provenance import machine
from benchmarks.relquery_engines import OURS, PAPER, STATIC, STOCK, Run, as_told, at_once
from benchmarks.relquery_figures import interval, p99, statistics_of
from lab.simulator.workload import RelSpec, retimed

VARIANTS = (STOCK, STATIC, PAPER, OURS)
GRAPHS = {
    "mode": 0,
    "cudagraph_mode": "FULL_DECODE_ONLY",
}  # torch.compile takes half a minute that a lease has not
PAPERS_LIMITS = {"max_num_seqs": 256, "max_num_batched_tokens": 8192}
STOCK_LIMITS = {"max_num_seqs": 1024, "max_num_batched_tokens": 8192}  # vLLM's, of a server on such a card


class LatencyStage:
    """The runs so far, and the file that tells of them."""

    def __init__(self, args: argparse.Namespace, traces: GpuTraces) -> None:
        self._args, self._traces = args, traces
        self._until_s = args.began_s + 60 * args.minutes
        self._longest_s = 0.0
        self.details: dict[str, Any] = {"model": args.model, "device": device(), "cap": args.cap}
        self.details |= {"stock": args.stock, "runs": [], "capacity": {}}
        self.told: dict[tuple[float, str], list[Run]] = {}

    def measure(self, exchange: SchedulerExchange) -> None:
        """Serve all that the time allows: seed after seed, every load with every variant, in turns."""
        args = self._args
        self.details |= exchange.limits()
        for variant in args.variants:
            exchange.use(variant).serve(as_told(variant, self._traces.warm, args.cap), {})
        for number, trace in enumerate(self._traces.seeds[: args.seeds]):
            run = self._run(exchange, STOCK, at_once(trace), number, "capacity")
            if run is None:
                return
            capacity = len(trace) / run["makespan_s"]
            self.details["capacity"][number] = capacity
            turn = number % len(args.variants)
            for rate in args.loads:
                arriving = retimed(trace, [r.arrival_s / capacity / rate for r in trace])
                for variant in args.variants[turn:] + args.variants[:turn]:
                    run = self._run(exchange, variant, arriving, number, rate)
                    if run is None:
                        return
                    self.told.setdefault((rate, variant), []).append(run)
                self._save()

    def _run(
        self, exchange: SchedulerExchange, variant: str, trace: list[RelSpec], seed: int, rate: float | str
    ) -> Run | None:
        """One run; None if there is no time for it any more."""
        if time.monotonic() + 1.1 * self._longest_s > self._until_s:
            return None
        began_s = time.monotonic()
        run = exchange.use(variant).serve(as_told(variant, trace, self._args.cap), {})
        took_s = time.monotonic() - began_s
        self._longest_s = max(self._longest_s, took_s)
        mean_s = statistics.mean(rel[1] for rel in run["rels"].values())
        steps = len(run["steps"])
        print(
            f"seed {seed}, load {rate}, {variant}: mean {mean_s:.2f} s, makespan {run['makespan_s']:.1f} s, "
            f"{steps} steps, policy {1e3 * run['policy_s'] / max(steps, 1):.2f} ms a step, sha {run['sha']}, "
            f"preempted {run['preemptions']}, leaked {run['leaked_blocks']}, took {took_s:.1f} s",
            flush=True,
        )
        self.details["runs"].append({"seed": seed, "load": rate, "variant": variant, **run})
        self._save()
        return run

    def _save(self) -> None:
        path = Path(self._args.out) / f"latency_{self._args.model}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"headline": self.headline(), "details": self.details}), encoding="utf-8")

    def headline(self) -> dict[str, Any]:
        """Ratios by load, over the seeds that every variant has served."""
        found: dict[str, Any] = {}
        for rate in self._args.loads:
            runs = {v: self.told.get((rate, v), []) for v in self._args.variants}
            whole = min(map(len, runs.values()))
            if not whole:
                continue
            runs = {v: r[:whole] for v, r in runs.items()}
            for variant in self._args.variants[1:]:
                key = f"{variant}, load {rate:g}"
                found[key] = {
                    "stock_over": round(interval(runs[STOCK], runs[variant], statistics.mean).value, 3),
                    "p99_over_stock": round(interval(runs[variant], runs[STOCK], p99).value, 3),
                }
        return found

    def show(self) -> None:
        """Print the table."""
        for rate in self._args.loads:
            served = {v: self.told[rate, v] for v in self._args.variants if (rate, v) in self.told}
            shown = {variant: statistics_of(runs) for variant, runs in served.items()}
            if shown:
                lines = [[v, len(served[v]), *found.values()] for v, found in shown.items()]
                print(f"\nload {rate:g}")
                print(table(["variant", "seeds", *next(iter(shown.values()))], lines))
        print(json.dumps(self.headline()), flush=True)


def device() -> str:
    """The card, or the processor where there is none."""
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else machine()


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="opt-13b", choices=list(SHAPES))
    parser.add_argument("--traces", type=Path, required=True, help="that `benchmarks.gpu.traces` wrote")
    parser.add_argument("--out", type=Path, required=True, help="folder of the result file")
    parser.add_argument("--minutes", type=float, default=8.0, help="with the engine's start")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--loads", type=float, nargs="+", default=[1.4])
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS))
    parser.add_argument("--cap", type=int, default=256, help="that every relQuery declares")
    parser.add_argument("--stock", action="store_true", help="as `vllm serve` does on a card of 80 GB")
    parser.add_argument("--kv-blocks", type=int, help="in place of what the card's memory holds")
    parser.add_argument("--arguments", type=json.loads, default={}, help="of vLLM's engine, as JSON")
    return parser.parse_args()


def main() -> None:
    """Serve the traces and print the table."""
    began_s = time.monotonic()
    args = options()
    args.began_s = began_s
    import torch

    on_cpu = not torch.cuda.is_available()
    given = SHAPES[args.model].arguments(args.out / "models" / args.model)
    given |= STOCK_LIMITS if args.stock else {"compilation_config": GRAPHS, **PAPERS_LIMITS}
    if on_cpu:
        given = given | {"compilation_config": {}, "enforce_eager": True}
    if args.kv_blocks:
        given["num_gpu_blocks_override"] = args.kv_blocks
    engine = start(given | args.arguments, on_cpu)
    exchange = SchedulerExchange(engine)
    print(
        f"started in {time.monotonic() - began_s:.0f} s, {exchange.limits()}",
        flush=True,
    )
    stage = LatencyStage(args, load(args.traces))
    stage.measure(exchange)
    stage.show()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
