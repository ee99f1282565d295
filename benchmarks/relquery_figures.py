"""What runs of `relquery_latency` show, with confidence intervals, and what the simulator makes of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy  # whose parts are imported when they are first read

from benchmarks.relquery_engines import (
    BLOCK_SIZE,
    CLAIRVOYANTS,
    MAX_NUM_SEQS,
    MAX_TOKENS,
    OURS,
    STOCK,
    Run,
    as_told,
    at_once,
    latencies,
    policy_of,
)
from lab.simulator.bound import jobs_of, shortest_first
from lab.simulator.engine import RelQueryEngineSpec
from lab.simulator.run import simulate
from lab.simulator.workload import RelSpec, lengths_known
from relserve.policies.model.lengths import LengthLearner
from relserve.policies.model.linear import MIN_BASE_S, CostModel, fit
from relserve.policies.scheduling.state import EngineLimits
from relserve.policies.scheduling.variants import make

Runs = dict[str, list[Run]]  # by variant, one a seed
Traces = Sequence[list[RelSpec]]  # one a seed
RESAMPLES = 2000


class Interval(NamedTuple):
    """A figure, and where it lies with 95 % confidence as far as the seeds tell."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """As tables show it."""
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def interval(above: Sequence[Run], below: Sequence[Run], statistic: Callable[[Any], Any]) -> Interval:
    """The ratio of a statistic of all latencies of some runs to that of others, on the same seeds.

    The interval is a bootstrap's: seeds are drawn again and again, both sides together.
    """
    sides = [[latencies(run) for run in runs] for runs in (above, below)]

    def ratio(seeds: Sequence[int]) -> float:
        one, other = (statistic(np.concatenate([side[i] for i in seeds])) for side in sides)
        return float(one / other)

    every = range(len(above))
    if len(every) < 2:
        return Interval(ratio(every), float("nan"), float("nan"))
    found = scipy.stats.bootstrap(
        (np.array(every),), ratio, vectorized=False, n_resamples=RESAMPLES, method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    return Interval(ratio(every), float(found.low), float(found.high))


def p99(values: Any) -> Any:
    """The 99th percentile."""
    return np.percentile(values, 99)


def statistics_of(runs: Sequence[Run]) -> dict[str, float]:
    """Latency statistics in seconds over all relQueries of several runs, and mean phases."""
    rels = np.array([r for run in runs for r in run["rels"].values()])
    latency = rels[:, 1]
    found = {"mean_s": latency.mean(), "max_s": latency.max()}
    found |= {f"p{q}_s": np.percentile(latency, q) for q in (50, 95, 99)}
    found |= {name: rels[:, 2 + i].mean() for i, name in enumerate(("waiting_s", "core_s", "tail_s"))}
    found["preemptions"] = sum(run["preemptions"] for run in runs)
    found["policy_share"] = sum(run["policy_s"] for run in runs) / sum(run["makespan_s"] for run in runs)
    return {name: round(float(value), 4) for name, value in found.items()}


def calibrated(runs: Sequence[Run], kv_tokens: int) -> RelQueryEngineSpec:
    """The simulator's engine, fitted to all measured steps.

    The fit is scaled so that the total is right: slow steps, which a robust fit leaves out, are time too.
    Rows' arrivals, which the simulator charges by themselves, are no part of it.
    """
    steps = np.array([step for run in runs for step in run["steps"]])
    arriving_s = sum(run["arrival_s_a_row"] * sum(r[0] for r in run["rels"].values()) for run in runs)
    cost = fit(steps)
    scale = (steps[:, 2].sum() - arriving_s) / sum(cost.step(tokens, decodes) for tokens, decodes, _ in steps)
    # The last, the base of mixed steps, is None where no step was mixed.
    cost = CostModel(*(float(scale * value) for value in astuple(cost) if value is not None))
    limits = EngineLimits(MAX_NUM_SEQS, MAX_TOKENS, kv_tokens, BLOCK_SIZE)
    a_row_s = statistics.median(run["arrival_s_a_row"] for run in runs)
    return RelQueryEngineSpec(cost, limits, arrival_s_a_row=a_row_s)


class Replay:
    """The traces of a comparison in the simulator, on the engine that was fitted to its runs.

    Args:
        warm: what every engine has served before the first trace; empty: nothing, before any trace.
        traces: with their own caps.
        makespans_s: what stock takes for each when all its relQueries come at once.
        cap: that variants are told.
    """

    def __init__(
        self,
        spec: RelQueryEngineSpec,
        warm: list[RelSpec],
        traces: Traces,
        makespans_s: Sequence[float],
        cap: int,
    ) -> None:
        self.spec, self.warm, self.traces, self.makespans_s, self.cap = spec, warm, traces, makespans_s, cap

    def mean_s(self, variant: str) -> float:
        """Mean latency of a variant."""
        return self._mean_s(variant, [self.spec] * len(self.traces))

    def _mean_s(self, variant: str, specs: Sequence[RelQueryEngineSpec]) -> float:
        learner, means = LengthLearner(), []
        if self.warm:
            told = as_told(variant, self.warm, self.cap)
            simulate(told, self.spec, policy_of(variant), lengths=learner)
        for trace, spec in zip(self.traces, specs, strict=True):
            told = as_told(variant, trace, self.cap)
            known = learner if self.warm else None
            means.append(simulate(told, spec, policy_of(variant), lengths=known).mean_s)
        return statistics.mean(means)

    def clairvoyant_s(self) -> float:
        """The mean of the best of ours and the paper's arrangement, told every row's length; no guard."""
        traces = list(map(lengths_known, self.traces))
        return min(
            statistics.mean(simulate(trace, self.spec, make(name)).mean_s for trace in traces)
            for name in CLAIRVOYANTS
        )

    def fluid_s(self) -> list[float]:
        """The latencies of the least mean that any order could reach on a fluid engine."""
        return [
            latency
            for trace, makespan_s in zip(self.traces, self.makespans_s, strict=True)
            for latency in shortest_first(jobs_of(trace, self.spec.cost, BLOCK_SIZE, makespan_s))
        ]

    def without_bases_s(self) -> float:
        """Our mean on an engine whose bases are spread over its tokens and rows, as the fluid one's are."""
        specs = [
            without_bases(self.spec, trace, makespan_s)
            for trace, makespan_s in zip(self.traces, self.makespans_s, strict=True)
        ]
        return self._mean_s(OURS, specs)


def without_bases(spec: RelQueryEngineSpec, trace: Sequence[RelSpec], total_s: float) -> RelQueryEngineSpec:
    """An engine with slopes alone, on which stock still takes `total_s` for a trace that comes at once."""
    cost = spec.cost
    bare = CostModel(cost.prefill_per_token_s, MIN_BASE_S, cost.decode_per_request_s, MIN_BASE_S, MIN_BASE_S)
    plain = replace(spec, cost=bare, arrival_s_a_row=0.0)
    scale = total_s / simulate(at_once(trace), plain, policy_of(STOCK)).end_s
    return replace(plain, cost=CostModel(*(float(scale * value) for value in astuple(bare))))


def known_lengths(replay: Replay) -> dict[str, float]:
    """Our simulated mean beside those of a clairvoyant and of the fluid engine, and what lies between."""
    fluid = replay.fluid_s()
    fluid_s, without_s = statistics.mean(fluid), replay.without_bases_s()
    clairvoyant_s, ours_s = replay.clairvoyant_s(), replay.mean_s(OURS)
    return {
        "ours_s": ours_s, "clairvoyant_s": clairvoyant_s, "without_bases_s": without_s,
        "fluid_s": fluid_s, "fluid_p99_s": float(p99(fluid)),
        "over_clairvoyant": ours_s / clairvoyant_s,
        "bases_s": ours_s - without_s, "order_s": without_s - fluid_s,
    }  # fmt: skip


def ranked_otherwise(
    real: Mapping[str, Sequence[float]], simulated: Mapping[str, float]
) -> list[tuple[str, str, float | None]]:
    """Pairs of variants that the simulator ranks otherwise than the engine.

    With each pair the p-value of a paired t-test over the seeds: how likely so large a difference of the real
    means is between equals; of that pair alone, not of all together. None for a single seed.

    Args:
        real: mean latencies by variant, one a seed.
    """
    pairs = []
    for one, other in combinations(real, 2):
        means = statistics.mean(real[one]), statistics.mean(real[other])
        if (means[0] < means[1]) != (simulated[one] < simulated[other]):
            p_value = None
            if len(real[one]) > 1:
                p_value = round(float(scipy.stats.ttest_rel(real[one], real[other]).pvalue), 3)
            pairs.append((one, other, p_value))
    return pairs
