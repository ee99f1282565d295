"""LENS on the real engine: rows that decode beside long prompts, under static step budgets, LENS and ours.

150 rows of 64 prompt tokens decode at any time, the next one begins where one ends, while prompts of 2,000
tokens come by a Poisson process, at three loads: shares of what the engine can compute beside the rows within
the limit. The limit on the mean time between a request's tokens (TPOT) is twice what a step of 150 decodes
takes, that on its first token (TTFT) twelve times what one such prompt takes alone; a request counts as
attained within both. Every budget serves the same prompts on the same engine, in vLLM's own order: static
ones from 384 to vLLM's 8,192 tokens, LENS as published, and ours, which know nothing of the engine when a
run begins. Only ours changes that order: prompts that will be late in any case let others go first; how it is
without that is shown, too (`ours-in-order`). Once more ours is told the limit on TPOT alone, and judged by
both as the others are.

The engine runs on one thread by `clocks.ChargedClock`: the real engine and scheduler run and compute every
token, but a step of the model counts as what one of its size takes as a rule, by a fit to steps measured
before, for this machine's speed moves by half from one second to the next; the processor time of all around
the model, of the budgets' decisions and of what their models learn too, counts as it is measured.

`attainment_over_best_static` is ours over the static budget that is best at a load, chosen afterwards, at the
load where that is least. `loads_met` counts the loads where P99 of TPOT over a run's requests is within the
limit for every seed, `loads_held` those where besides as many requests attain as with the best budget of all,
but for 2 %. `decision_ms` is the worst 99th percentile of a run of ours. `r2` is the least of the runs of
ours, of all predictions made before their steps, where steps count as they were measured, which the step
model learns anew from the log; `r2_charged` where they count as they are charged. `r2_hindsight` is what a
fit to all steps of that run would reach after it: the rest of the variance is the machine's.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.claims import Higher, Lower, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.effective.attainment import RequestLimits
from benchmarks.effective.workload import TimedRequest
from benchmarks.hybrid.lanes import WARM_UP
from benchmarks.hybrid.requests import requests
from benchmarks.plots import Panel, curves
from benchmarks.relquery_engines import EngineSetup, EngineWorker
from benchmarks.slo.beside import PROMPT, ROW_OUTPUT, ROW_PROMPT, ROWS, BesideLoad, Kept, came, kept, trace
from benchmarks.slo.step_times import fitted
from relserve.policies.model.structured import OURS, PUBLISHED, Form, StepModel
from relserve.policies.model.work import Work

ROOMS = ("relserve/policies/budget", "relserve/policies/model", "relserve/vllm_plugin")
HEADLINE = {
    "attainment_over_best_static": Higher(0.2), "decision_ms": Lower(1, timed=True),
    "r2_charged": Higher(by=0.05), "by_load": Untold("one load"),
    "lens_over_best_static": Untold("the paper's"), "attainment_over_single_static": Untold("one load"),
    "single_static": Untold("no figure"), "r2": Untold("the machine's moment"),
    "r2_hindsight": Untold("the machine's moment"), "loads_met": Untold("one load"),
    "loads_held": Untold("one load"),
}  # fmt: skip

VLLM = "static-8192"  # what vLLM gives engines that serve one program
STATIC = ("static-384", "static-512", "static-640", VLLM)
TPOT_ALONE = "ours, TPOT alone"
IN_ORDER = "ours-in-order"  # nobody lets others go first
SYSTEMS = (*STATIC, "lens", IN_ORDER, "ours", TPOT_ALONE)
PATIENCE_S = 3600.0  # in place of a limit on first tokens
LOADS, WARM_S, SECONDS = (0.5, 0.7, 0.9), 2.0, 12.0
SLOWER, FIRST = 2.0, 12.0  # the limits, in steps of ROWS decodes, and in prompts alone
QUICK = (("static-512", "lens", "ours"), (0.7,), 2.0)
LEARNING = (("static-256", 1.0), ("static-512", 0.7), (VLLM, 0.5))  # whose steps are fitted
FORMS = {"lens": PUBLISHED, IN_ORDER: OURS, "ours": OURS}
ALIKE = 0.98  # of the best


class LensRegime(NamedTuple):
    """What the engine can do, in seconds: a step of ROWS decodes, a long prompt alone."""

    step_s: float
    prompt_s: float

    @property
    def slo(self) -> RequestLimits:
        """The limits of every request."""
        return RequestLimits(FIRST * self.prompt_s, SLOWER * self.step_s)

    def load(self, share: float, seconds: float) -> BesideLoad:
        """A share of the long prompts that could be computed beside the rows, and those rows."""
        row_s = statistics.fmean(ROW_OUTPUT) * self.slo.tbt_s
        of_rows = ROWS / row_s * ROW_PROMPT / PROMPT
        most = (1.0 - 1.0 / SLOWER) / self.prompt_s - of_rows
        warm_s = min(WARM_S, seconds)
        shortest_s = 0.7 * statistics.fmean(ROW_OUTPUT) * self.step_s
        return BesideLoad(share * most, warm_s, seconds, 2 + round((warm_s + seconds) / shortest_s))


class LensRun(NamedTuple):
    """A run, of a system at a load.

    Attributes:
        decision_ms: median and P99.
        r2, r2_charged: of its model, by measured steps and by those that counted; None without one.
        r2_hindsight: of a fit to the measured steps.
        tokens_a_step: of prompts, in steps that have any.
        rows: that decoded, on average, while requests came.
        beside: share of the time that was not the model's.
    """

    kept: Kept
    decision_ms: tuple[float, float]
    r2: float | None
    r2_charged: float | None
    r2_hindsight: float
    tokens_a_step: float
    rows: float
    beside: float


class LensEngine:
    """The engine, and what its steps count as."""

    def __init__(self, seconds: float) -> None:
        engine = EngineSetup(
            max_tokens=8192, max_num_seqs=256, own_kv_tokens=150_000, own_threads=1, clock="charged"
        )
        self._worker = EngineWorker("stock", {"variant": "stock"}, engine)
        self._worker.serve(WARM_UP)
        self.regime = self._regime()
        steps = [step for each in LEARNING for step in self._learn(*each, seconds)]
        self._worker.cost = self.cost = fitted(steps)
        self.fit_r2, self.num_fitted = self.cost.explained(steps), len(steps)
        self.regime = self._regime()

    def _regime(self) -> LensRegime:
        rows = self._worker.serve(requests([TimedRequest(0.0, ROW_PROMPT, 100)] * ROWS, 1), tokens=True)
        between = np.diff(np.array(list(rows["token_s"].values())), axis=1)
        prompt = requests([TimedRequest(0.0, PROMPT, 1)], 2)
        prompt_s = statistics.median(self._worker.serve(prompt)["makespan_s"] for _ in range(5))
        return LensRegime(float(np.median(between[:, 40:])), prompt_s)

    def _learn(self, budget: str, share: float, seconds: float) -> list[list[float]]:
        """MeasuredStep steps."""
        load = self.regime.load(share, seconds / 2)
        found = self._serve(budget, load, 999)["works"]
        return list(found)

    def _serve(self, system: str, load: BesideLoad, seed: int) -> dict[str, Any]:
        ttft_s, tbt_s = self.regime.slo
        return self._worker.serve(
            trace(load, seed), forget=True, tokens=True, budget=system.partition(",")[0],
            slo_s=(PATIENCE_S if system == TPOT_ALONE else ttft_s, tbt_s),
            until_s=load.end_s,
        )  # fmt: skip

    def run(self, system: str, load: BesideLoad, seed: int) -> LensRun:
        """Serve a load."""
        run = self._serve(system, load, seed)
        told, steps = run["budget"], np.array(run["works"])
        found = kept(came(trace(load, seed), run["token_s"]), self.regime.slo, load.warm_s)
        taken = 1e3 * np.array(told["decisions_s"])
        model_s = np.cumsum([self.cost.seconds(Work(*work)) for work in steps[:, :-1]])
        while_it_comes = steps[model_s <= model_s[-1] * load.end_s / run["makespan_s"]]
        form = FORMS.get(system.partition(",")[0])
        return LensRun(
            found, (float(np.median(taken)), float(np.percentile(taken, 99))),
            learnt_r2(run["works"], form) if form else None, told["model"]["r2"] if form else None,
            hindsight_r2(steps), float(steps[steps[:, 0] > 0, 0].mean()), float(while_it_comes[:, 2].mean()),
            1.0 - float(model_s[-1]) / run["makespan_s"],
        )  # fmt: skip

    def quit(self) -> None:
        """End the engine."""
        self._worker.quit()


def learnt_r2(steps: Sequence[Sequence[float]], form: Form) -> float:
    """How well a model foretells measured steps, each before it learns it."""
    model = StepModel(form)
    for *work, seconds in steps:
        model.add(Work(*work), seconds)
    return model.r2(len(steps))


def hindsight_r2(steps: np.ndarray) -> float:
    """How well measured steps are told by the least squares that are linear in each number of a `Work`."""
    works, seconds = np.column_stack([np.ones(len(steps)), steps[:, :-1]]), steps[:, -1]
    errors = seconds - works @ np.linalg.lstsq(works, seconds, rcond=None)[0]
    return 1.0 - float((errors**2).sum() / ((seconds - seconds.mean()) ** 2).sum())


Found = Mapping[tuple[str, float], Sequence[LensRun]]  # by system and load, a run a seed


def attained(found: Found, system: str, load: float) -> float:
    """The share of all seeds' requests within both limits."""
    return statistics.fmean(run.kept.attained for run in found[system, load])


def meets(found: Found, system: str, load: float) -> bool:
    """Whether P99 of TPOT over requests is within the limit, for every seed."""
    return all(run.kept.tpot >= 0.99 for run in found[system, load])


def holds(found: Found, system: str, load: float, systems: Sequence[str]) -> bool:
    """Whether besides about as many requests attain as with the best of some systems."""
    best = max(attained(found, each, load) for each in systems)
    return meets(found, system, load) and attained(found, system, load) >= ALIKE * best


def rows_of(
    found: Found, loads: Sequence[float], systems: Sequence[str], slo: RequestLimits
) -> list[list[Any]]:
    """A row a load and system."""
    rows = []
    for load in loads:
        for system in systems:
            runs = found[system, load]
            mean = Kept(*np.mean([run.kept for run in runs], axis=0).tolist())
            rows.append([
                load, system, 100 * mean.attained, 100 * mean.ttft, 100 * mean.tpot,
                mean.tpot_p99_s / slo.tbt_s, mean.ttft_p99_s / slo.ttft_s,
                "yes" if meets(found, system, load) else "no",
                statistics.fmean(run.tokens_a_step for run in runs),
                statistics.fmean(run.rows for run in runs),
                statistics.median(run.decision_ms[0] for run in runs), max(r.decision_ms[1] for r in runs),
                _least(run.r2 for run in runs), _least(run.r2_charged for run in runs),
            ])  # fmt: skip
    return rows


def _least(values: Any) -> float | None:
    return min((value for value in values if value is not None), default=None)


COLUMNS = (
    "load", "budget", "both, %", "TTFT, %", "TPOT, %", "P99 TPOT/limit", "P99 TTFT/limit", "P99 met",
    "prompt tokens a step", "rows", "ms", "ms, P99", "R2", "R2, charged",
)  # fmt: skip


def headline(found: Found, loads: Sequence[float], static: Sequence[str]) -> dict[str, Any]:
    """The figures of the last line."""
    others = ("lens", IN_ORDER, "ours", TPOT_ALONE)
    systems = (*static, *(each for each in others if any(each in key for key in found)))
    best = {load: max(attained(found, system, load) for system in static) for load in loads}
    over = {
        name: [attained(found, name, load) / max(best[load], 1e-9) for load in loads]
        for name in ("lens", "ours")
    }
    means = {s: statistics.fmean(attained(found, s, load) for load in loads) for s in systems}
    single = max(static, key=means.__getitem__)
    runs = [run for load in loads for run in found["ours", load]]
    worst = min(runs, key=lambda run: run.r2 or 0.0)
    return {
        "attainment_over_best_static": round(min(over["ours"]), 3),
        "by_load": [round(each, 3) for each in over["ours"]],
        "lens_over_best_static": round(min(over["lens"]), 3),
        "attainment_over_single_static": round(means["ours"] / max(means[single], 1e-9), 3),
        "single_static": single,
        "decision_ms": round(max(run.decision_ms[1] for run in runs), 3),
        "r2": round(_least(run.r2 for run in runs) or 0.0, 3),
        "r2_hindsight": round(worst.r2_hindsight, 3),
        "r2_charged": round(_least(run.r2_charged for run in runs) or 0.0, 3),
        "loads_met": {name: sum(meets(found, name, load) for load in loads) for name in systems},
        "loads_held": {name: sum(holds(found, name, load, systems) for load in loads) for name in systems},
    }


def plot(found: Found, loads: Sequence[float], systems: Sequence[str], path: Path) -> None:
    """Attainment by load, a line a budget."""
    lines = {system: (loads, [100 * attained(found, system, load) for load in loads]) for system in systems}
    curves(path, [Panel("both limits kept", lines)], "load", "% of requests")


def main() -> None:
    """Serve every load under every budget, print a table, end with one line of JSON."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=2)
    args, began_s = parser.parse_args(), time.monotonic()
    systems, loads, seconds = QUICK if args.quick else (SYSTEMS, LOADS, SECONDS)
    seeds = 1 if args.quick else args.seeds
    bench = LensEngine(seconds)
    regime, cost = bench.regime, bench.cost
    print(f"{regime}; limits {regime.slo}\na step counts as {cost}, which explains {bench.fit_r2:.3f} of the "
          f"variance of {bench.num_fitted} measured ones", flush=True)  # fmt: skip
    found: dict[tuple[str, float], list[LensRun]] = {}
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
        "step_times": asdict(cost), "fit_r2": bench.fit_r2, "num_fitted": bench.num_fitted,
        "loads": {share: regime.load(share, seconds)._asdict() for share in loads},
        "by_seed": [[*key, [[*run.kept, *run[1:]] for run in runs]] for key, runs in found.items()],
        "minutes": (time.monotonic() - began_s) / 60,
    }  # fmt: skip
    static = [system for system in systems if system.startswith("static")]
    finish("lens", headline(found, loads, static), details, args.quick, partial(plot, found, loads, systems))


if __name__ == "__main__":
    main()
