"""Run a trace through the simulated engine under a policy."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from relserve.policies.cost import FixedCost
from relserve.policies.scheduling.driver import StepDriver
from relserve.policies.scheduling.policy import SchedulingPolicy
from relserve.simulator.engine import EngineSpec, SimEngine
from relserve.simulator.sim_relquery import SimRel
from relserve.simulator.workload import RelSpec


class RelLatency(NamedTuple):
    """One relQuery's latency in seconds, and its phases."""

    rel_id: str
    num_rows: int
    latency_s: float
    waiting_s: float
    core_s: float
    tail_s: float


@dataclass
class Outcome:
    """What a simulation measured; times are virtual seconds but `wall_s`."""

    latencies: list[RelLatency] = field(default_factory=list)
    end_s: float = 0.0
    num_steps: int = 0
    num_preemptions: int = 0
    cached_share: float = 0.0
    policy_s: float = 0.0
    wall_s: float = 0.0
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def mean_s(self) -> float:
        """Mean relQuery latency."""
        return sum(r.latency_s for r in self.latencies) / len(self.latencies)


def simulate(trace: Sequence[RelSpec], engine_spec: EngineSpec, policy: SchedulingPolicy) -> Outcome:
    """Serve every relQuery of a trace.

    Args:
        trace: relQueries in any order of arrival.
        engine_spec: what the engine is.
        policy: decides each step.
    """
    started = time.perf_counter()
    pending = sorted(trace, key=lambda r: r.arrival_s)
    engine, outcome = SimEngine(engine_spec), Outcome()
    now, next_up = 0.0, 0
    cost = engine_spec.cost
    driver = StepDriver(policy, FixedCost(cost))
    while next_up < len(pending) or engine.rels:
        while next_up < len(pending) and pending[next_up].arrival_s <= now:
            engine.add(pending[next_up])
            now += engine_spec.arrival_s_a_row * len(pending[next_up].rows)
            next_up += 1
        if not engine.rels:
            now = pending[next_up].arrival_s
            continue
        thought = time.perf_counter()
        decision = driver.decide(engine.view(now))
        outcome.policy_s += time.perf_counter() - thought
        work = engine.step(decision, now)
        has_worked = bool(work.num_decodes or work.prefill_tokens)
        driver.settle(has_worked, has_more=True)
        if driver.is_stuck:
            raise RuntimeError("a request does not fit the engine's memory")
        if not has_worked:
            continue
        now += cost.step(work.prefill_tokens, work.num_decodes)
        outcome.num_steps += 1
        outcome.latencies += [_latency(rel) for rel in engine.finish(work, now)]
    outcome.reasons = driver.reasons
    outcome.end_s, outcome.num_preemptions = now, engine.num_preemptions
    outcome.cached_share = engine.num_cached_tokens / max(engine.num_prompt_tokens, 1)
    outcome.wall_s = time.perf_counter() - started
    return outcome


def clairvoyant(trace: Sequence[RelSpec]) -> list[RelSpec]:
    """The trace with caps equal to the longest true output of each relQuery."""
    return [replace(r, output_cap=max(row.output_tokens for row in r.rows)) for r in trace]


def _latency(rel: SimRel) -> RelLatency:
    arrival, scheduled = rel.spec.arrival_s, rel.state.first_scheduled_s
    assert scheduled is not None
    assert rel.done_s is not None
    core_end = max(rel.last_first_token_s, scheduled)
    return RelLatency(
        rel.spec.rel_id, len(rel.spec.rows), rel.done_s - arrival, scheduled - arrival,
        core_end - scheduled, rel.done_s - core_end,
    )  # fmt: skip
