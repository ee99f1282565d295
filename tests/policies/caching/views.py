"""Views for the tests of caching policies."""

from __future__ import annotations

from collections.abc import Iterable

from relserve.policies.caching.requests import CacheType, RequestColumns, RequestState
from relserve.policies.caching.state import BatchLimits, BlockMemory, CacheView
from relserve.policies.model.cache_costs import CacheCosts
from relserve.policies.model.linear import CostModel

STEPS = CostModel(1e-4, 1e-2, 1e-4, 1e-2)


def waiting(
    request_id: str, tokens: int, arrival_s: float = 0.0, slo_s: float = 1e9, rank: float = 0.0
) -> RequestState:
    """A request that holds nothing."""
    return RequestState(
        request_id, arrival_s, tokens, tokens, ttft_slo_s=slo_s, tpot_slo_s=slo_s, expected_left=10, rank=rank
    )


def decoding(
    request_id: str, tokens: int, cache: CacheType = "kv", last_s: float = 0.0, slo_s: float = 1e9
) -> RequestState:
    """A request that computes one token a step."""
    return RequestState(
        request_id, last_s, tokens - 1, tokens, tokens - 1, cache, last_s, ttft_slo_s=slo_s, tpot_slo_s=slo_s,
        expected_left=10,
    )  # fmt: skip


def view(
    requests: Iterable[RequestState],
    num_blocks: int,
    now_s: float = 1.0,
    max_num_seqs: int = 1000,
    budget: int = 10**6,
    rho: float = 1e-6,
) -> CacheView:
    """What a policy is shown; a block holds 16 tokens, or 32 hidden ones."""
    costs = CacheCosts(STEPS, 0.0, rho)
    limits = BatchLimits(max_num_seqs, budget)
    return CacheView(now_s, RequestColumns(requests), BlockMemory(num_blocks, 16, 32), limits, costs)
