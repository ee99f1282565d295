"""The RelServe paper's experiments in the simulator: Figures 9 to 12 and Table 6, at the paper's scale.

100 relQueries of 1 to 100 rows from the paper's templates over the shared tables (PDMX is not to be had),
Poisson arrivals, three models. Step times are derived from published hardware figures, not measured: see
`SETTINGS`. "vllm" and "static" (vLLM-SP) run exclusive steps with prefill first, as in the paper; "sarathi"
mixes chunked prefills into decode steps. "clairvoyant" knows the output lengths; "least" is the mean that no
order can beat on an engine which always works as fast as ours does on all relQueries at once (SRPT, fluid).
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from typing import Any, NamedTuple

from benchmarks.common import RESULTS, arguments, finish, table
from benchmarks.relquery_workload import ARRIVALS, TABLES, arrival_times, encoder, relqueries
from relserve.policies.cost import CostModel
from relserve.policies.scheduling.state import Limits
from relserve.policies.scheduling.variants import DEFAULT, make
from relserve.simulator.bound import jobs_of, shortest_first
from relserve.simulator.engine import EngineSpec
from relserve.simulator.run import simulate
from relserve.simulator.workload import RelSpec, longest_known, retimed

FIGURE_9 = {
    "vllm": "fcfs+pp", "sarathi": "fcfs", "static": "static+pp", "dpu+aba": "dpu+aba", "ours": DEFAULT
}  # fmt: skip
FIGURE_10 = ("dpu+pp", "dpu+dp", "dpu+aba", DEFAULT)
LEAST = "least"
THRESHOLDS_S = (0.0, 1.0, 0.5, 0.3, 0.2, 0.1)  # Eq. 13, seconds of waiting per row; 0: no guard
PATIENCE = (3.0, 2.5, 2.0, 1.5, 1.0)  # ours, in predicted FCFS latencies
TABLE_6_E2E_S = {0.5: 202.2, 0.6: 171.1, 0.7: 158.1, 0.8: 156.4, 0.9: 152.6, 1.0: 146.7}


@dataclass(frozen=True)
class Hardware:
    """A model on its GPUs, by published figures: A100 312 TFLOP/s fp16 dense and 1.555 TB/s."""

    gpus: int
    parameters: float
    weight_bytes: float
    kv_bytes_a_token: float
    memory_bytes: float
    compute_share: float  # of the peak that prefills reach
    memory_share: float  # of the peak bandwidth that decodes reach, tensor parallelism included

    @property
    def spec(self) -> EngineSpec:
        """Roofline step times: prefills are bound by compute, decodes by reading weights and KV cache."""
        bandwidth = self.gpus * 1.555e12 * self.memory_share
        cost = CostModel(
            2 * self.parameters / (self.gpus * 312e12 * self.compute_share),
            5e-3,
            200 * self.kv_bytes_a_token / bandwidth + 3e-5,  # of a row of 200 tokens, and its sampling
            self.weight_bytes / bandwidth + 3e-3,
        )
        room = 0.9 * self.memory_bytes - self.weight_bytes - 1e9 * self.gpus
        return EngineSpec(cost, Limits(256, 2048, int(room / self.kv_bytes_a_token), 16))


SETTINGS = {
    "OPT-13B": Hardware(1, 13e9, 24e9, 2 * 40 * 5120 * 2, 40e9, 0.6, 0.85),
    "Qwen2.5-32B": Hardware(2, 32.5e9, 61e9, 2 * 64 * 1024 * 2, 80e9, 0.55, 0.8),
    "Llama2-70B": Hardware(4, 69e9, 129e9, 2 * 80 * 1024 * 2, 160e9, 0.5, 0.75),
}


class Job(NamedTuple):
    """One simulation."""

    model: str
    data: str
    rate: float
    seed: int
    policy: str
    starvation_s: float = 0.0
    patience: float = 0.0
    arrivals: str = "poisson"
    knows_lengths: bool = False


@cache
def _trace(data: str, seed: int, count: int) -> list[RelSpec]:
    return relqueries(count, 100, 1.0, seed, encoder(), tables=(data,))


@cache
def _at_once_s(model: str, data: str, seed: int, count: int) -> float:
    """Seconds that ours takes for all relQueries of a trace when they come at once."""
    trace = retimed(_trace(data, seed, count), [0.0] * count)
    return simulate(trace, SETTINGS[model].spec, make(DEFAULT)).end_s


def _run(job: Job, count: int = 100) -> dict[str, float]:
    """Simulate; gives the mean and largest latency, phases, and the policy's share of a wall second."""
    trace = _trace(job.data, job.seed, count)
    trace = retimed(trace, arrival_times(job.arrivals, job.rate, count, job.seed))
    spec = SETTINGS[job.model].spec
    if job.policy == LEAST:
        total_s = _at_once_s(job.model, job.data, job.seed, count)
        jobs = jobs_of(trace, spec.cost, spec.limits.block_size, total_s)
        return {"mean_s": statistics.mean(shortest_first(jobs))}
    exclusive = job.policy.endswith(("+pp", "+dp", "+aba"))
    spec = EngineSpec(spec.cost, spec.limits, chunked=not exclusive)
    trace = longest_known(trace) if job.knows_lengths else trace
    done = simulate(trace, spec, make(job.policy, job.starvation_s, job.patience))
    found = {
        name: statistics.mean(getattr(r, name) for r in done.latencies)
        for name in ("waiting_s", "core_s", "tail_s")
    }
    return found | {
        "mean_s": done.mean_s, "max_s": max(r.latency_s for r in done.latencies), "end_s": done.end_s,
        "policy_s": done.policy_s,
    }  # fmt: skip


def run_all(jobs: list[Job]) -> dict[Job, dict[str, float]]:
    """Every job, on all cores."""
    with get_context("spawn").Pool() as pool:
        return dict(zip(jobs, pool.map(_run, jobs, chunksize=4), strict=True))


def mean_of(found: dict[Job, dict[str, float]], name: str, **wanted: Any) -> float:
    """A figure averaged over the seeds of the jobs that match."""
    return statistics.mean(
        v[name] for job, v in found.items() if all(getattr(job, k) == w for k, w in wanted.items())
    )


def figure_9(models: list[str], rates: list[float], seeds: range) -> tuple[list[list[Any]], dict[str, Any]]:
    """Mean latency of every setting, and how far ours is ahead at the highest rate."""
    jobs = [
        Job(m, d, r, s, policy, knows_lengths=knows)
        for m in models for d in TABLES for r in rates for s in seeds
        for policy, knows in [
            *((p, False) for p in (*FIGURE_9.values(), LEAST)), (DEFAULT, True), ("dpu+aba", True)
        ]
    ]  # fmt: skip
    found = run_all(jobs)
    rows = []
    for m in models:
        for d in TABLES:
            for r in rates:
                at = {"model": m, "data": d, "rate": r}
                means = [
                    mean_of(found, "mean_s", policy=p, knows_lengths=False, **at) for p in FIGURE_9.values()
                ]
                bound = min(
                    mean_of(found, "mean_s", policy=p, knows_lengths=True, **at) for p in (DEFAULT, "dpu+aba")
                )
                ours, least = means[-1], mean_of(found, "mean_s", policy=LEAST, **at)
                ratios = [means[0] / ours, means[2] / ours, ours / means[3], ours / bound, means[0] / least]
                rows.append([m, d, r, *means, bound, least, *ratios])
    top = [row for row in rows if row[2] == max(rates)]
    ranges = {
        name: [round(min(row[i] for row in where), 3), round(max(row[i] for row in where), 3)]
        for name, i, where in (
            ("vllm_over_ours_top_rate", -5, top), ("static_over_ours_top_rate", -4, top),
            ("ours_over_aba", -3, rows), ("ours_over_clairvoyant_top_rate", -2, top),
            ("vllm_over_least_top_rate", -1, top),
        )
    }  # fmt: skip
    return rows, ranges


def other_arrivals(rates: list[float], seeds: range) -> list[list[Any]]:
    """OPT-13B on the beer table, when relQueries come in bursts or as in a public trace."""
    at = {"model": "OPT-13B", "data": "beer"}
    jobs = [
        Job(*at.values(), r, s, p, arrivals=a)
        for a in ARRIVALS for r in rates for s in seeds for p in FIGURE_9.values()
    ]  # fmt: skip
    found = run_all(jobs)
    rows = [
        [a, r, *(mean_of(found, "mean_s", arrivals=a, rate=r, policy=p) for p in FIGURE_9.values())]
        for a in ARRIVALS
        for r in rates
    ]
    print("\nMean latency by arrivals, s")
    print(table(["arrivals", "rate", *FIGURE_9], rows))
    return rows


def figures_10_to_12(rates: list[float], seeds: range) -> dict[str, Any]:
    """OPT-13B on the beer table: arrangements, phases, overhead and end-to-end time, thresholds."""
    at = {"model": "OPT-13B", "data": "beer"}
    arrangements = [
        Job(*at.values(), r, s, p) for r in rates for s in seeds for p in (*FIGURE_10, "static+pp")
    ]
    guards = [(t, 0.0) for t in THRESHOLDS_S] + [(0.0, k) for k in PATIENCE]
    guarded = [Job(*at.values(), r, s, DEFAULT, *g) for r in rates for s in seeds for g in guards]
    found = run_all(list(dict.fromkeys(arrangements + guarded)))
    ten = [
        [r, *(mean_of(found, "mean_s", rate=r, policy=p, starvation_s=0.0, patience=0.0) for p in FIGURE_10)]
        for r in rates
    ]
    names = ("waiting_s", "core_s", "tail_s")
    phases = [
        [r, p, *(mean_of(found, n, rate=r, policy=p, starvation_s=0.0, patience=0.0) for n in names)]
        for r in rates
        for p in ("static+pp", "dpu+aba", DEFAULT)
    ]
    overhead = [
        [
            r,
            mean_of(found, "policy_s", rate=r, policy="dpu+aba"),
            mean_of(found, "end_s", rate=r, policy="dpu+aba"),
            TABLE_6_E2E_S.get(r, float("nan")),
        ]
        for r in rates
    ]
    guard = [
        [
            r,
            *g,
            *(
                mean_of(found, n, rate=r, policy=DEFAULT, starvation_s=g[0], patience=g[1])
                for n in ("mean_s", "max_s")
            ),
        ]
        for r in rates
        for g in guards
    ]
    print("\nFigure 10: mean latency by arrangement, s")
    print(table(["rate", *FIGURE_10], ten))
    print("\nFigure 11: phases, s")
    print(table(["rate", "variant", "waiting_s", "core_s", "tail_s"], phases))
    print("\nTable 6: DPU and ABA together, and end to end, s")
    print(table(["rate", "dpu+aba_s", "e2e_s", "e2e_paper_s"], overhead))
    print("\nFigure 12: Eq. 13's threshold, s a row, and our patience (0: none)")
    print(table(["rate", "threshold_s", "patience", "mean_s", "max_s"], guard))
    return {"figure_10": ten, "figure_11": phases, "table_6": overhead, "figure_12": guard}


def main() -> None:
    """Print every table, save all with a plot, end with one line of JSON."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--rates", type=float, nargs="+", default=[0.5, 0.7, 0.9, 1.0, 1.2])
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    models, rates, seeds = list(SETTINGS), args.rates, range(1, args.seeds + 1)
    if args.quick:
        models, rates, seeds = ["OPT-13B"], [0.7, 1.0], range(1, 2)
    rows, ranges = figure_9(models, rates, seeds)
    columns = [
        "model", "data", "rate", *FIGURE_9, "clairvoyant", LEAST,
        "vllm/ours", "static/ours", "ours/aba", "ours/clair", "vllm/least",
    ]  # fmt: skip
    print("Figure 9: mean relQuery latency, s")
    print(table(columns, rows))
    details = {"columns": columns, "figure_9": rows, **figures_10_to_12(rates, seeds)}
    details["arrivals"] = other_arrivals(rates, seeds)
    details["cost_models"] = {m: str(SETTINGS[m].spec) for m in models}
    finish("relquery_simulated", ranges, details, args.quick)
    if not args.quick:
        plot(rows, RESULTS / "relquery_simulated.png")


def plot(rows: list[list[Any]], path: Any) -> None:
    """Figure 9: a panel a model and table."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    models, data = list(dict.fromkeys(r[0] for r in rows)), list(dict.fromkeys(r[1] for r in rows))
    figure, axes = plt.subplots(
        len(models), len(data), figsize=(4 * len(data), 3 * len(models)), squeeze=False
    )
    for i, model in enumerate(models):
        for k, name in enumerate(data):
            mine = [r for r in rows if r[:2] == [model, name]]
            for j, label in enumerate([*FIGURE_9, "clairvoyant", LEAST]):
                style = {"clairvoyant": "k--", LEAST: "k:"}.get(label, ".-")
                axes[i][k].plot([r[2] for r in mine], [r[3 + j] for r in mine], style, label=label)
            axes[i][k].set_title(f"{model}, {name}")
            axes[i][k].set_xlabel("relQueries/s")
            axes[i][k].set_ylabel("mean latency, s")
    axes[0][0].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


if __name__ == "__main__":
    main()
