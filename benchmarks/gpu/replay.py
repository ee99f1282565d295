"""What a GPU measured beside the simulator, on an engine that is fitted to the measured steps."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu.traces import load
from benchmarks.relquery_engines import OURS, PAPER, STATIC, STOCK
from benchmarks.relquery_figures import Replay, Runs, calibrated, interval, known_lengths, p99, statistics_of
from lab.simulator.workload import retimed
from relserve.policies.scheduling.state import EngineLimits

VARIANTS = (STOCK, STATIC, PAPER, OURS)


def simulated_beside(details: Mapping[str, Any], traces: Path) -> dict[str, Any]:
    """Statistics by variant, their ratios, and the simulator's means over the measured ones.

    Args:
        details: of a file that `latency` wrote, with one load.
        traces: that it served.
    """
    (rate,) = {run["load"] for run in details["runs"]} - {"capacity"}
    runs: Runs = {v: [r for r in details["runs"] if (r["load"], r["variant"]) == (rate, v)] for v in VARIANTS}
    whole = min(map(len, runs.values()))
    runs = {variant: served[:whole] for variant, served in runs.items()}
    every = [run for served in runs.values() for run in served]
    limits = EngineLimits(
        *(details[key] for key in ("max_num_seqs", "max_tokens", "kv_tokens", "block_size"))
    )
    spec = dataclasses.replace(calibrated(every, details["kv_tokens"]), limits=limits)
    drawn = load(traces)
    capacity = [details["capacity"][str(number)] for number in range(whole)]
    arriving = [
        retimed(trace, [rel.arrival_s / each / rate for rel in trace])
        for trace, each in zip(drawn.seeds, capacity, strict=False)
    ]
    makespans_s = [len(trace) / each for trace, each in zip(arriving, capacity, strict=True)]
    replay = Replay(spec, drawn.warm, arriving, makespans_s, details["cap"])
    shown = {variant: statistics_of(served) for variant, served in runs.items()}
    simulated = {variant: replay.mean_s(variant) for variant in VARIANTS}
    steps = sum(len(run["steps"]) for run in runs[OURS])
    return {
        "seeds": whole, "load": rate, "variants": shown, "simulated_s": simulated, "engine": str(spec),
        "known": known_lengths(replay), "step_error": step_error(every, spec.cost),
        "outputs_equal": len({tuple(sorted(run["sha"] for run in served)) for served in runs.values()}) == 1,
        "ratios": {
            "vllm_over_default": round(interval(runs[STOCK], runs[OURS], np.mean).value, 3),
            "p99_over_vllm": round(interval(runs[OURS], runs[STOCK], p99).value, 3),
            "static_over_default": round(interval(runs[STATIC], runs[OURS], np.mean).value, 3),
            "default_over_paper": round(interval(runs[OURS], runs[PAPER], np.mean).value, 3),
        },
        "simulated_over_real": {v: round(simulated[v] / shown[v]["mean_s"], 3) for v in VARIANTS},
        "policy_ms": round(1e3 * sum(run["policy_s"] for run in runs[OURS]) / steps, 3),
    }  # fmt: skip


def step_error(runs: list[dict[str, Any]], cost: Any) -> dict[str, float]:
    """How far the cost model is off for a step, as shares of the step's time."""
    off = [abs(cost.step(p, d) - s) / s for run in runs for p, d, s in run["steps"]]
    return {"median": round(statistics.median(off), 3), "p90": round(float(np.quantile(off, 0.9)), 3)}
