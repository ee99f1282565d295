"""Run a trace through simulated engines under a policy."""

from __future__ import annotations

import time
from collections.abc import Sequence

from lab.simulator.engine import RelQueryEngineSpec
from lab.simulator.events import EventHeap, SimulatedEngines
from lab.simulator.outcome import EngineOutcome
from lab.simulator.replica import Replica
from lab.simulator.workload import RelSpec
from relserve.policies.dispatch.policy import DispatchPolicy
from relserve.policies.dispatch.turns import RoundRobin
from relserve.policies.model.lengths import LengthLearner
from relserve.policies.scheduling.policy import SchedulingPolicy


def simulate(
    trace: Sequence[RelSpec], engine_spec: RelQueryEngineSpec, policy: SchedulingPolicy,
    may_jump: bool = True, lengths: LengthLearner | None = None,
) -> EngineOutcome:  # fmt: skip
    """Serve every relQuery of a trace on one engine.

    Args:
        trace: relQueries in any order of arrival.
        engine_spec: what the engine is.
        policy: decides each step; a policy serves one run.
        may_jump: see `Replica`; the outcome is the same without, and takes longer.
        lengths: what is known of output lengths beforehand, which learns more; None: nothing.

    Raises:
        RuntimeError: a row does not fit the engine's memory.
    """
    return simulate_replicas(trace, [Replica(engine_spec, policy, may_jump, lengths)], RoundRobin())[0]


def simulate_replicas(
    trace: Sequence[RelSpec], replicas: Sequence[Replica], router: DispatchPolicy
) -> list[EngineOutcome]:
    """Serve every relQuery of a trace on one of several engines.

    Args:
        replicas: engines to which nothing has come yet.
        router: chooses an engine for each relQuery when it comes; a policy serves one run.

    Returns:
        What each engine measured, of the relQueries that it served.

    Raises:
        RuntimeError: a row does not fit its engine's memory.
    """
    started = time.perf_counter()
    EventHeap(SimulatedEngines(replicas, router, trace).arrivals).run()
    outcomes = [replica.result() for replica in replicas]
    for outcome in outcomes:
        outcome.wall_s = time.perf_counter() - started
    return outcomes
