"""First come, first served, as vLLM does it: what has started goes on, mixed with the prompts that fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relserve.policies.caching.fill import BlockNeeds, allowed, begun, fitting
from relserve.policies.caching.requests import HIDDEN, Floats
from relserve.policies.caching.state import CachePlan, CacheView, plan_of


@dataclass(frozen=True)
class FirstCome:
    """Requests in the order of their arrival, all with one type of cache.

    What has started goes on; where its next tokens have no memory, the latest is dropped, and nothing comes
    in. Else what waits comes in until one does not fit. Prompts are chunked by the step's tokens.
    """

    name: str
    hidden: bool = False

    def plan(self, view: CacheView, came_s: Floats | None = None) -> CachePlan:
        """See `CachingPolicy.plan`.

        Args:
            came_s: as if each had come then; NaN: it stays out of this step. None: as they came.
        """
        requests, needs = view.requests, BlockNeeds.of(view)
        came_s = requests.arrival_s if came_s is None else came_s
        rows = np.lexsort((requests.order, came_s))
        rows = rows[~np.isnan(came_s[rows])]
        started, waiting = rows[~needs.waits[rows]], rows[needs.waits[rows]]
        kept = fitting(needs.held[started], view.memory.num_blocks)
        run, dropped = started[:kept], started[kept:]
        if not len(dropped):
            free = view.memory.num_blocks - int(needs.held[run].sum())
            seats = max(view.limits.max_num_seqs - kept, 0)
            come = min(fitting(needs.blocks(self.hidden)[waiting], free), seats)
            run = np.concatenate([run, waiting[:come]])
        run = run[: begun(needs.tokens[run], view.limits.max_num_batched_tokens)]
        hidden = np.where(needs.waits[run], self.hidden, requests.holds[run] == HIDDEN)
        hidden = allowed(requests, run, hidden)
        return plan_of(requests, run, hidden, dropped[::-1], "mixed", "arrival")
