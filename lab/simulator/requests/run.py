"""Run requests through a simulated engine under a caching policy."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf

from lab.simulator.requests.engine import RequestsEngineSpec, RequestsStep, SimulatedRequestsEngine
from lab.simulator.requests.sim_request import RequestSpec, SimRequest
from relserve.policies.caching.first_come import FirstCome
from relserve.policies.caching.policy import CachingPolicy


@dataclass
class RequestsOutcome:
    """What was measured.

    Attributes:
        requests: all requests, in the order of arrival.
        num_plans: steps that the policy was asked about; the others repeat one.
        num_dropped: how often a request lost what it held.
        most_at_once: requests that held memory at once.
        policy_s, wall_s: real time of the policy, and of the run with it.
    """

    requests: list[SimRequest] = field(default_factory=list)
    num_steps: int = 0
    num_plans: int = 0
    num_dropped: int = 0
    most_at_once: int = 0
    end_s: float = 0.0
    policy_s: float = 0.0
    wall_s: float = 0.0


def simulate(
    requests: Sequence[RequestSpec],
    spec: RequestsEngineSpec,
    policy: CachingPolicy,
    may_jump: bool = True,
    on_end: Callable[[SimRequest], None] | None = None,
) -> RequestsOutcome:
    """Serve every request.

    Args:
        requests: in any order of arrival.
        may_jump: whether decisions that cannot differ from the one before are repeated unasked.
        on_end: is told of each request that has ended.

    Raises:
        RuntimeError: the policy runs nothing although nothing more will come, or overcommits the memory.
    """
    started = time.perf_counter()
    outcome, engine = RequestsOutcome(), SimulatedRequestsEngine(spec, on_end)
    upcoming = sorted(requests, key=lambda request: request.arrival_s, reverse=True)
    now_s = 0.0
    while upcoming or engine.live:
        while upcoming and upcoming[-1].arrival_s <= now_s:
            outcome.requests.append(engine.add(upcoming.pop()))
        next_s = upcoming[-1].arrival_s if upcoming else inf
        step = _planned(engine, policy, now_s, outcome) if engine.live else RequestsStep()
        if not step.work.num_tokens:
            if next_s == inf:
                raise RuntimeError(
                    f"{policy.name} runs none of {len(engine.live)} requests, and no more come"
                )
            now_s = next_s
            continue
        until_s = _stands_until(policy, engine, step, next_s) if may_jump else 0.0
        now_s += spec.times.seconds(step.work)
        engine.finish(step, now_s)
        outcome.num_steps += 1
        if now_s < until_s and all(not request.is_finished for request in step.done):
            now_s, num_steps = engine.decode_on(step, now_s, until_s)
            outcome.num_steps += num_steps
    outcome.end_s, outcome.wall_s = now_s, time.perf_counter() - started
    return outcome


def _planned(
    engine: SimulatedRequestsEngine, policy: CachingPolicy, now_s: float, outcome: RequestsOutcome
) -> RequestsStep:
    started = time.perf_counter()
    plan = policy.plan(engine.view(now_s))
    outcome.policy_s += time.perf_counter() - started
    step = engine.begin(plan)
    outcome.num_plans += 1
    outcome.num_dropped += step.num_dropped
    outcome.most_at_once = max(outcome.most_at_once, engine.num_holding)
    return step


def _stands_until(
    policy: CachingPolicy, engine: SimulatedRequestsEngine, step: RequestsStep, next_s: float
) -> float:
    """Until when a step's decision stands while nobody ends and the memory suffices.

    It does if all that hold memory decode, and none that waits fits what is left of the memory, until
    somebody comes; unless a policy may have reasons to change a type: it has none where nothing is hidden,
    or all are and it costs nothing. First come, first served decides by queue and memory alone: who did not
    come in now will not before somebody ends.

    Args:
        next_s: when the next request comes.
    """
    if step.num_prompts or step.num_dropped or len(step.done) < engine.num_holding:
        return 0.0
    somebody_waits = len(engine.live) > engine.num_holding
    if isinstance(policy, FirstCome):
        return inf if somebody_waits else next_s
    types = {request.cache for request in step.done}
    is_settled = types == {"kv"} or (types == {"hidden"} and not engine.spec.times.costs.rho)
    return next_s if is_settled and not engine.somebody_fits else 0.0
