"""Random traces with what makes schedulers differ: shared heads, bursts, relQueries that come together."""

from __future__ import annotations

import random

from lab.simulator.engine import RelQueryEngineSpec
from lab.simulator.workload import RelSpec, RowSpec
from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.state import EngineLimits

COST = CostModel(1e-4, 5e-3, 1e-4, 2e-2, 2.1e-2)
CHUNKED = ("fcfs", "static", "dpu+marginal")


def bursty_trace(seed: int, count: int = 16, max_rows: int = 24) -> list[RelSpec]:
    """`count` relQueries of up to `max_rows` rows; some come at the same time."""
    rng, now_s, trace = random.Random(seed), 0.0, []
    heads = [_tokens(rng, rng.choice([20, 40, 100])) for _ in range(3)]
    for number in range(count):
        now_s += rng.choice([0.0, rng.expovariate(rng.choice([0.3, 1.0, 3.0]))])
        head, cap = rng.choice(heads), rng.choice([1, 5, 10, 50, 120])
        rows = tuple(
            RowSpec(head + _tokens(rng, rng.randrange(1, 200)), rng.randint(1, cap))
            for _ in range(rng.randint(1, max_rows))
        )
        trace.append(RelSpec(f"r{number}", now_s, rows, cap))
    return trace


def engine_for(
    name: str, kv_tokens: int, max_num_seqs: int = 32, arrival_s_a_row: float = 0.0, caching: bool = True
) -> RelQueryEngineSpec:
    """An engine that prefills as the variant of that name expects."""
    limits = EngineLimits(max_num_seqs, 2048, kv_tokens)
    return RelQueryEngineSpec(COST, limits, name in CHUNKED, caching, arrival_s_a_row)


def _tokens(rng: random.Random, count: int) -> tuple[int, ...]:
    return tuple(rng.randrange(1000) for _ in range(count))
