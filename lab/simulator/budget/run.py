"""Serve requests with limits under a budget policy, and judge them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lab.simulator.budget.engine import Budgeted, NoisyTimes
from lab.simulator.requests.engine import RequestsEngineSpec
from lab.simulator.requests.run import simulate
from lab.simulator.requests.sim_request import RequestSpec, SimRequest
from relserve.policies.budget.policy import BudgetPolicy
from relserve.policies.caching.state import BatchLimits, BlockMemory


class BudgetedEngineSpec(NamedTuple):
    """An engine.

    Attributes:
        num_blocks: blocks of 16 tokens.
        exclusive: a step computes prompts, whole, or decodes, as vLLM's engine V0 does.
    """

    times: NoisyTimes
    num_blocks: int
    max_num_seqs: int = 256
    max_num_batched_tokens: int = 8192
    exclusive: bool = False


@dataclass(frozen=True)
class BudgetOutcome:
    """What became of the requests, a column each in the order of arrival.

    Attributes:
        ttft_s, tpot_s, e2e_s: time until the first token, mean time between the others, time until the last.
        choices: budgets of the steps that the policy was asked about.
    """

    ttft_s: np.ndarray
    tpot_s: np.ndarray
    e2e_s: np.ndarray
    in_time: np.ndarray
    arrival_s: np.ndarray
    choices: Sequence[tuple[float, int, int]]
    policy_s: float

    @property
    def attained(self) -> float:
        """The share of requests within both of their limits."""
        return float(self.in_time.mean())


def serve(
    specs: Sequence[RequestSpec],
    engine: BudgetedEngineSpec,
    policy: BudgetPolicy,
    seed: int = 0,
    may_jump: bool = True,
) -> BudgetOutcome:
    """Serve every request.

    Args:
        seed: of the noise of steps.
        may_jump: whether decodes that nothing can change are run without asking; the policy is not told of
            these steps, and changes of the speed are seen only after them.
    """
    budgeted = Budgeted(policy, engine.times, seed)
    limits = BatchLimits(engine.max_num_seqs, engine.max_num_batched_tokens)
    spec = RequestsEngineSpec(budgeted, BlockMemory(engine.num_blocks, 16, 32), limits, engine.exclusive)
    found = simulate(specs, spec, budgeted, may_jump, budgeted.ended)
    times = np.array([_times(request) for request in found.requests])
    slos = np.array([(r.spec.ttft_slo_s, r.spec.tpot_slo_s) for r in found.requests])
    in_time: np.ndarray = np.all(times[:, :2] <= slos, axis=1)
    arrival_s = np.array([request.spec.arrival_s for request in found.requests])
    ttft_s, tpot_s, e2e_s = times.T
    return BudgetOutcome(ttft_s, tpot_s, e2e_s, in_time, arrival_s, budgeted.budgets, found.policy_s)


def _times(request: SimRequest) -> tuple[float, float, float]:
    came_s, token_s = request.spec.arrival_s, request.token_s
    between_s = (token_s[-1] - token_s[0]) / max(len(token_s) - 1, 1)
    return token_s[0] - came_s, between_s, token_s[-1] - came_s
