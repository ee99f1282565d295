"""The runs of `relquery_simulated`: models on their GPUs, traces drawn anew for every setting, policies.

Step times are derived from published hardware figures, not measured.
"""

from __future__ import annotations

import statistics
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import get_context
from typing import NamedTuple

from benchmarks.relquery_workload import Encode, arrival_times, encoder, relqueries
from lab.simulator.bound import jobs_of, shortest_first
from lab.simulator.engine import RelQueryEngineSpec
from lab.simulator.outcome import EngineOutcome
from lab.simulator.run import simulate
from lab.simulator.workload import RelSpec, lengths_known, longest_known, retimed
from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.policy import SchedulingPolicy
from relserve.policies.scheduling.state import EngineLimits
from relserve.policies.scheduling.variants import DEFAULT, make

COUNT, MAX_ROWS = 100, 100  # relQueries of a trace, and most rows of one
LEAST = "least"


@dataclass(frozen=True)
class Hardware:
    """A model on its GPUs, by published figures: A100 312 TFLOP/s fp16 dense and 1.555 TB/s.

    Attributes:
        compute_share: of the peak that prefills reach.
        memory_share: of the peak bandwidth that decodes reach, tensor parallelism included.
    """

    gpus: int
    parameters: float
    weight_bytes: float
    kv_bytes_a_token: float
    memory_bytes: float
    compute_share: float
    memory_share: float

    @property
    def spec(self) -> RelQueryEngineSpec:
        """Roofline step times: prefills are bound by compute, decodes by reading weights and KV cache.

        A decoding row reads the KV cache of 200 tokens, and its sampling takes 30 microseconds.
        """
        bandwidth = self.gpus * 1.555e12 * self.memory_share
        cost = CostModel(
            2 * self.parameters / (self.gpus * 312e12 * self.compute_share),
            5e-3,
            200 * self.kv_bytes_a_token / bandwidth + 3e-5,
            self.weight_bytes / bandwidth + 3e-3,
        )
        free_bytes = 0.9 * self.memory_bytes - self.weight_bytes - 1e9 * self.gpus
        return RelQueryEngineSpec(cost, EngineLimits(256, 2048, int(free_bytes / self.kv_bytes_a_token), 16))


MODELS = {
    "OPT-13B": Hardware(1, 13e9, 24e9, 2 * 40 * 5120 * 2, 40e9, 0.6, 0.85),
    "Qwen2.5-32B": Hardware(2, 32.5e9, 61e9, 2 * 64 * 1024 * 2, 80e9, 0.55, 0.8),
    "Llama2-70B": Hardware(4, 69e9, 129e9, 2 * 80 * 1024 * 2, 160e9, 0.5, 0.75),
}
# This repository's development machine, one thread, the embedded model: fitted to all steps of
# `benchmarks.relquery_latency` at load 1.0 (commit cef0602, its "engine" in benchmarks/results).
CPU = RelQueryEngineSpec(
    CostModel(2.3207e-5, 4.7745e-3, 1.2081e-4, 1.4858e-3, 2.5942e-3),
    EngineLimits(256, 4096, 200_000, 32),
    arrival_s_a_row=9.9125e-5,
)
SPECS = {**{name: hardware.spec for name, hardware in MODELS.items()}, "CPU": CPU}
TOLD: dict[str, Callable[[Sequence[RelSpec]], Sequence[RelSpec]]] = {
    "cap": lambda trace: trace,
    "longest": longest_known,
    "lengths": lengths_known,
}


class TraceSetting(NamedTuple):
    """What traces are drawn for: a model, a table, relQueries a second, and how they arrive."""

    model: str
    data: str
    rate: float
    arrivals: str = "poisson"


class PolicyRun(NamedTuple):
    """A policy on a trace.

    Attributes:
        variant: a name of `variants.NAMES`, or LEAST.
        starvation_s, patience: the guard; see `variants.make`.
        told: a name of TOLD: what the policy knows of the outputs.
        keeps_outputs_free: a row is admitted only if the free memory holds it and all that it and the
            running rows may still say, by their caps. The code published with the paper checks so much for
            the running rows before a prefill.
    """

    variant: str
    starvation_s: float = 0.0
    patience: float = 0.0
    told: str = "cap"
    keeps_outputs_free: bool = False

    @property
    def policy(self) -> SchedulingPolicy:
        """The policy, new."""
        policy = make(self.variant, self.starvation_s, self.patience)
        return replace(policy, reserve_share=1.0) if self.keeps_outputs_free else policy

    @property
    def is_exclusive(self) -> bool:
        """Whether its steps are prefills or decodes, never both; prompts are then computed whole."""
        return self.variant.endswith(("+pp", "+dp", "+aba"))


Figures = dict[str, float]
Found = dict[TraceSetting, dict[PolicyRun, list[Figures]]]
"""By setting and run, the figures of each draw; see `figures_of`."""


def run_all(wanted: Iterable[tuple[TraceSetting, PolicyRun]], num_draws: int) -> Found:
    """Every run on `num_draws` traces of its setting, the same for all its runs; on all cores."""
    runs: dict[TraceSetting, dict[PolicyRun, None]] = defaultdict(dict)
    for setting, run in wanted:
        runs[setting][run] = None
    draws = [(setting, draw, list(r)) for setting, r in runs.items() for draw in range(num_draws)]
    with get_context("spawn").Pool() as pool:
        results = pool.starmap(_run_draw, draws, chunksize=4)
    found: Found = {setting: {run: [] for run in r} for setting, r in runs.items()}
    for (setting, _, ran), figures in zip(draws, results, strict=True):
        for run, figure in zip(ran, figures, strict=True):
            found[setting][run].append(figure)
    return found


def trace_of(setting: TraceSetting, draw: int, count: int = COUNT) -> list[RelSpec]:
    """A trace of a setting: rows, their order, outputs and arrivals are drawn anew for each."""
    told = f"{setting}".replace(type(setting).__name__, "Setting", 1)  # the draws of earlier result files
    seed = zlib.crc32(f"{told} {draw}".encode())
    trace = relqueries(count, MAX_ROWS, 1.0, seed, remembering_encoder(), tables=(setting.data,))
    return retimed(trace, arrival_times(setting.arrivals, setting.rate, count, seed))


@cache
def remembering_encoder() -> Encode:
    """Token ids of prompts; each prompt of a table is encoded once a process."""
    encode, known = encoder(), dict[str, list[int]]()

    def remembered(prompts: list[str]) -> list[list[int]]:
        new = [prompt for prompt in dict.fromkeys(prompts) if prompt not in known]
        known.update(zip(new, encode(new) if new else [], strict=True))
        return [known[prompt] for prompt in prompts]

    return remembered


def _run_draw(setting: TraceSetting, draw: int, runs: Sequence[PolicyRun]) -> list[Figures]:
    trace, spec = trace_of(setting, draw), MODELS[setting.model].spec
    return [_least(trace, spec) if run.variant == LEAST else _simulate(trace, spec, run) for run in runs]


def _simulate(trace: Sequence[RelSpec], spec: RelQueryEngineSpec, run: PolicyRun) -> Figures:
    spec = replace(spec, chunked=not run.is_exclusive)
    return figures_of(simulate(TOLD[run.told](trace), spec, run.policy))


def _least(trace: Sequence[RelSpec], spec: RelQueryEngineSpec) -> Figures:
    """The mean that no order can beat on an engine as fast as ours with all relQueries at once."""
    at_once = simulate(retimed(trace, [0.0] * len(trace)), spec, make(DEFAULT))
    jobs = jobs_of(trace, spec.cost, spec.limits.block_size, at_once.end_s)
    return {"mean_s": statistics.mean(shortest_first(jobs))}


def figures_of(outcome: EngineOutcome) -> Figures:
    """Mean and largest latency, mean phases, end, the policy's share of it and the run's, all in seconds."""
    phases = {
        name: statistics.mean(getattr(r, name) for r in outcome.latencies)
        for name in ("waiting_s", "core_s", "tail_s")
    }
    return phases | {
        "mean_s": outcome.mean_s, "max_s": max(r.latency_s for r in outcome.latencies),
        "end_s": outcome.end_s, "policy_s": outcome.policy_s, "wall_s": outcome.wall_s,
    }  # fmt: skip


def virtual_s_a_s(found: Found) -> Mapping[str, float]:
    """By variant, virtual seconds that a second of one process simulates; "all" is over all runs."""
    virtual: dict[str, float] = defaultdict(float)
    wall: dict[str, float] = defaultdict(float)
    for runs in found.values():
        for run, draws in runs.items():
            for figures in draws if run.variant != LEAST else ():
                for name in (run.variant, "all"):
                    virtual[name] += figures["end_s"]
                    wall[name] += figures["wall_s"]
    return {name: virtual[name] / wall[name] for name in virtual}
