"""Simulated runs of `loose_caps` and `never_worse`, at loads relative to the capacity of stock.

Traces are resampled: tables, templates, rows, outputs and arrivals are drawn anew for every model and draw.
Ours is the default variant with its guard, its memory empty when a trace begins; stock is vLLM V1's FCFS,
which mixes chunks of prompts into decode steps and knows no caps.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from multiprocessing import get_context
from typing import NamedTuple, TypeVar

from benchmarks.relquery_workload import declared, relqueries
from benchmarks.simulated_runs import COUNT, MAX_ROWS, SPECS, remembering_encoder
from lab.simulator.engine import RelQueryEngineSpec
from lab.simulator.run import simulate
from lab.simulator.workload import RelSpec, retimed
from relserve.policies.model.lengths import LengthLearner
from relserve.policies.scheduling.policy import SchedulingPolicy
from relserve.policies.scheduling.variants import DEFAULT, make
from relserve.vllm_plugin.settings import SchedulerSettings

Task = TypeVar("Task")
Result = TypeVar("Result")


class ServedTrace(NamedTuple):
    """How a trace was served: seconds by relQuery, and rows that lost their memory."""

    latency_s: dict[str, float]
    num_preemptions: int

    @property
    def mean_s(self) -> float:
        """Mean latency."""
        return sum(self.latency_s.values()) / len(self.latency_s)


class Draw(NamedTuple):
    """A trace to be served at several loads in all settings of a machine."""

    model: str
    number: int
    outputs: str
    loads: Sequence[float]
    count: int


def ours() -> SchedulingPolicy:
    """The default policy with its guard, as nobody has used it yet."""
    return make(DEFAULT, patience=SchedulerSettings().patience)


def stock() -> SchedulingPolicy:
    """vLLM V1's own order."""
    return make("fcfs")


def with_memory(model: str, kv_tokens: int | None) -> RelQueryEngineSpec:
    """The engine of a model of SPECS, with other KV memory where that is given."""
    spec = SPECS[model]
    return spec if kv_tokens is None else replace(spec, limits=replace(spec.limits, kv_tokens=kv_tokens))


def drawn(model: str, draw: int, outputs: str = "uniform", count: int = COUNT) -> list[RelSpec]:
    """The relQueries of a draw, one a second."""
    seed = zlib.crc32(f"{model} {draw}".encode())
    return relqueries(count, MAX_ROWS, 1.0, seed, remembering_encoder(), outputs=outputs)


def who_has_seen(templates: Sequence[RelSpec], spec: RelQueryEngineSpec, cap: int) -> LengthLearner:
    """What ours knows of output lengths when it has served such relQueries."""
    learner = LengthLearner()
    served(templates, spec, ours(), cap, learner)
    return learner


def served(
    trace: Sequence[RelSpec],
    spec: RelQueryEngineSpec,
    policy: SchedulingPolicy,
    cap: int | None = None,
    lengths: LengthLearner | None = None,
) -> ServedTrace:
    """Serve a trace; every relQuery declares `cap` where that is given, `lengths` is known beforehand."""
    outcome = simulate(declared(trace, cap), spec, policy, lengths=lengths)
    return ServedTrace({each.rel_id: each.latency_s for each in outcome.latencies}, outcome.num_preemptions)


def capacity(trace: Sequence[RelSpec], spec: RelQueryEngineSpec) -> float:
    """relQueries a second of stock when all come at once."""
    return len(trace) / simulate(retimed(trace, [0.0] * len(trace)), spec, stock()).end_s


def at_load(trace: Sequence[RelSpec], load: float, relqueries_a_second: float) -> list[RelSpec]:
    """A trace of one relQuery a second, at a share of a capacity."""
    return retimed(trace, [rel.arrival_s / (load * relqueries_a_second) for rel in trace])


def on_all_cores(function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
    """The results in the order of the tasks, each when those before it are there; prints how far it is."""
    waiting = list(tasks)
    with get_context("spawn").Pool() as pool:
        for number, result in enumerate(pool.imap(function, waiting), start=1):
            print(f"{number} of {len(waiting)} traces", end="\r", flush=True)
            yield result
    print()
