"""LENS on the real engine: rows that decode beside long prompts, under static step budgets, LENS and ours.

About 150 rows of 64 prompt tokens decode at a time, as their limit allows, while prompts of 2,000 tokens
come by a Poisson process, at three loads: shares of what the engine can compute beside the rows within the
limit. The limit on the mean time between a request's tokens (TPOT) is twice what a step of 150 decodes
takes, that on its first token (TTFT) twelve times what one such prompt takes alone; a request counts as
attained within both. Every budget serves the same requests on the same engine, in vLLM's own order: static
ones from 256 to vLLM's 8,192 tokens, LENS as published, and ours, which know nothing of the engine when a
run begins.

The engine runs on one thread, its clock is the processor time that it takes, and a probe before and after
each run tells the machine's speed: arrivals and limits are stretched by it, and all times are in seconds of
the first probe. A run during which it moved by more than a tenth is repeated once, and the steadier of the
two is kept. `attainment_over_best_static` is ours over the static budget that is best at a load, chosen
afterwards, at the load where that is least; `decision_ms` the 99th percentile of ours; `r2` the least of
the runs of ours, of all predictions made before their steps.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common import arguments, finish, table
from benchmarks.effective.attainment import Slo
from benchmarks.effective.workload import Arrival
from benchmarks.hybrid.lanes import PROBE, PROBES, WARM_UP
from benchmarks.hybrid.requests import records, requests, stretched
from benchmarks.plots import Panel, curves
from benchmarks.relquery_engines import STEADY, Engine, Worker
from benchmarks.slo.beside import (
    PROMPT,
    ROW_OUTPUT,
    ROW_PROMPT,
    ROWS,
    Kept,
    Load,
    arrivals,
    kept,
)

VLLM = "static-8192"  # what vLLM gives engines that serve one program
STATIC = ("static-256", "static-384", "static-512", "static-768", "static-1024", "static-2048", VLLM)
SYSTEMS = (*STATIC, "lens", "ours")
LOADS, WARM_S, SECONDS = (0.3, 0.5, 0.7), 3.0, 20.0
SLOWER, FIRST = 2.0, 12.0  # the limits, in steps of ROWS decodes, and in prompts alone
QUICK = (("static-512", "lens", "ours"), (0.5,), 2.0)
TRIES = 2


class Regime(NamedTuple):
    """What the engine can do, in seconds of its first probe.

    Attributes:
        step_s: of ROWS decodes; prompt_s: of a long prompt alone.
    """

    probe_s: float
    step_s: float
    prompt_s: float

    @property
    def slo(self) -> Slo:
        """The limits of every request."""
        return Slo(FIRST * self.prompt_s, SLOWER * self.step_s)

    def load(self, share: float, seconds: float) -> Load:
        """A share of the long prompts that could be computed beside the rows, and those rows."""
        row_s = statistics.fmean(ROW_OUTPUT) * self.slo.tbt_s
        of_rows = ROWS / row_s * ROW_PROMPT / PROMPT
        most = (1.0 - 1.0 / SLOWER) / self.prompt_s - of_rows
        return Load(share * most, row_s, min(WARM_S, seconds), seconds)


class Ran(NamedTuple):
    """A run, of a system at a load: how it kept its limits, what deciding took, what the model knew."""

    kept: Kept
    decision_ms: tuple[float, float]
    r2: float | None
    tokens_a_step: float
    moved: float


class Bench:
    """The engine, and its probe."""

    def __init__(self, tries: int = TRIES) -> None:
        self._tries = tries
        engine = Engine(max_tokens=8192, max_num_seqs=256, own_kv_tokens=150_000, own_threads=1, clock="busy")
        self._worker = Worker("stock", {"variant": "stock"}, engine)
        self._worker.serve(WARM_UP)
        self.probes_s = [self._probe()]
        rows = self._worker.serve(requests([Arrival(0.0, ROW_PROMPT, 100)] * ROWS, 1), tokens=True)
        gaps = np.diff(np.array(list(rows["token_s"].values())), axis=1)
        prompt = requests([Arrival(0.0, PROMPT, 1)], 2)
        prompt_s = min(self._worker.serve(prompt)["makespan_s"] for _ in range(3))
        self.regime = Regime(self.probes_s[0], float(np.median(gaps[:, 40:])), prompt_s)

    def _probe(self) -> float:
        return statistics.median(float(self._worker.serve(PROBE)["makespan_s"]) for _ in range(PROBES))

    def run(self, system: str, load: Load, seed: int) -> Ran:
        """Serve a load; of up to TRIES, the run of the steadiest speed."""
        tries: list[Ran] = []
        while len(tries) < self._tries:
            tries.append(self._run(system, load, seed))
            if tries[-1].moved < STEADY:
                break
        return min(tries, key=lambda each: each.moved)

    def _run(self, system: str, load: Load, seed: int) -> Ran:
        before, slo, reference = self._probe(), self.regime.slo, self.regime.probe_s
        slower = before / reference
        trace = stretched(requests(arrivals(load, seed), seed), slower)
        limits = [slower * limit for limit in slo]
        run = self._worker.serve(trace, forget=True, tokens=True, slo_s=limits, budget=system)
        after = self._probe()
        self.probes_s += [before, after]
        found = kept(records(trace, run["token_s"], 1.0 / slower), slo, load.warm_s)
        told, prefills = run["budget"], [tokens for tokens, _, _ in run["steps"] if tokens]
        taken = 1e3 * np.array(told["decisions_s"])
        return Ran(
            found, (float(np.median(taken)), float(np.percentile(taken, 99))),
            None if told["model"] is None else told["model"]["r2"], float(np.mean(prefills)),
            abs(after / before - 1.0),
        )  # fmt: skip

    def quit(self) -> None:
        """End the engine."""
        self._worker.quit()


Found = Mapping[tuple[str, float], Sequence[Ran]]  # by system and load, a run a seed


def attained(found: Found, system: str, load: float) -> float:
    """The share of all seeds' requests within both limits."""
    return statistics.fmean(run.kept.attained for run in found[system, load])


def meets(found: Found, system: str, load: float) -> bool:
    """Whether P99 of TPOT over requests is within the limit, for every seed."""
    return all(run.kept.tpot >= 0.99 for run in found[system, load])


def rows_of(found: Found, loads: Sequence[float], systems: Sequence[str], slo: Slo) -> list[list[Any]]:
    """A row a load and system."""
    rows = []
    for load in loads:
        for system in systems:
            runs = found[system, load]
            mean = Kept(*np.mean([run.kept for run in runs], axis=0).tolist())
            known = [run.r2 for run in runs if run.r2 is not None]
            rows.append([
                load, system, 100 * mean.attained, 100 * mean.ttft, 100 * mean.tpot,
                mean.tpot_p99_s / slo.tbt_s, mean.ttft_p99_s / slo.ttft_s,
                "yes" if meets(found, system, load) else "no",
                statistics.fmean(run.tokens_a_step for run in runs),
                statistics.median(run.decision_ms[0] for run in runs), max(r.decision_ms[1] for r in runs),
                min(known) if known else None, max(run.moved for run in runs),
            ])  # fmt: skip
    return rows


COLUMNS = (
    "load", "budget", "both, %", "TTFT, %", "TPOT, %", "P99 TPOT/limit", "P99 TTFT/limit", "P99 met",
    "prompt tokens a step", "ms", "ms, P99", "R2", "speed moved",
)  # fmt: skip


def headline(found: Found, loads: Sequence[float], static: Sequence[str]) -> dict[str, Any]:
    """The figures of the last line."""
    best = {load: max(attained(found, system, load) for system in static) for load in loads}
    ours = [attained(found, "ours", load) / max(best[load], 1e-9) for load in loads]
    lens = [attained(found, "lens", load) / max(best[load], 1e-9) for load in loads]
    means = {s: statistics.fmean(attained(found, s, load) for load in loads) for s in (*static, "ours")}
    single = max(static, key=means.__getitem__)
    runs = [run for load in loads for run in found["ours", load]]
    return {
        "attainment_over_best_static": round(min(ours), 3),
        "lens_over_best_static": round(min(lens), 3),
        "attainment_over_single_static": round(means["ours"] / max(means[single], 1e-9), 3),
        "single_static": single,
        "decision_ms": round(max(run.decision_ms[1] for run in runs), 3),
        "r2": round(min(run.r2 for run in runs if run.r2 is not None), 3),
        "loads_met": {
            name: sum(meets(found, name, load) for load in loads) for name in (*static, "lens", "ours")
        },
    }


def plot(found: Found, loads: Sequence[float], systems: Sequence[str], path: Path) -> None:
    """Attainment by load, a line a budget."""
    lines = {system: (loads, [100 * attained(found, system, load) for load in loads]) for system in systems}
    curves(path, [Panel("both limits kept", lines)], "load", "% of requests")


def main() -> None:
    """Serve every load under every budget, print a table, end with one line of JSON."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=2)
    args = parser.parse_args()
    systems, loads, seconds = QUICK if args.quick else (SYSTEMS, LOADS, SECONDS)
    seeds = 1 if args.quick else args.seeds
    bench = Bench(1 if args.quick else TRIES)
    regime = bench.regime
    print(f"{regime}; limits {regime.slo}", flush=True)
    found: dict[tuple[str, float], list[Ran]] = {}
    for share in loads:
        load = regime.load(share, seconds)
        print(f"load {share}: {load}", flush=True)
        for seed in range(1, seeds + 1):
            for system in systems:
                run = bench.run(system, load, seed)
                found.setdefault((system, share), []).append(run)
                if not args.quick:
                    print(f"  seed {seed}, {system}: {run}", flush=True)
    bench.quit()
    rows = rows_of(found, loads, systems, regime.slo)
    print(table(COLUMNS, rows))
    details = {
        "regime": regime._asdict(), "slo": regime.slo._asdict(), "columns": COLUMNS, "rows": rows,
        "loads": {share: regime.load(share, seconds)._asdict() for share in loads},
        "by_seed": [[*key, [[*run.kept, *run[1:]] for run in runs]] for key, runs in found.items()],
        "probes_s": bench.probes_s,
    }  # fmt: skip
    static = [system for system in systems if system.startswith("static")]
    finish("lens", headline(found, loads, static), details, args.quick, partial(plot, found, loads, systems))


if __name__ == "__main__":
    main()
