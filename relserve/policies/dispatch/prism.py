"""PRISM as published (NexusSched, section 5): a product of four scores over what members report.

The paper gives the state (Eq. 8), the product (Eq. 9), and what each S_i looks at; it gives no S_i. Chosen
here, all with weight w_i = 1 as it says. L_e and P_e,max come from LENS's step model in the member, as in the
paper (section 5.1; `StepModel.predict` for Eq. 1 of the batch that runs, `StepModel.peak_tokens_per_s`); of a
member without such a model from its cost model (section 7.3's "limited, non-predictive state signals").

* S_latency: logistic in L_e over the request's limit, one half at the limit. The limit is that on the first
  token, for L_e is "the enqueueing delay"; where there is none it is that on the others, else 1 s.
* S_load: 1 / (1 + rho_e / 1 s), where rho_e = W_e / P_e,max. W_e is "composite" of pending prompt tokens and
  of requests; a request counts as `REQUEST_TOKENS`.
* S_capacity: logistic in M_e over prompt and expected output, one half where they are equal.
* S_affinity: beta = 1.2 where the member holds a part of the prompt.
* "Graceful degradation" of stale state: members whose state is older than `STALE_S`, or that have none, are
  left out, and where that leaves nobody it is round robin. Members of equal score take turns.
"""

from __future__ import annotations

import numpy as np

from relserve.policies.dispatch.loads import in_turn
from relserve.policies.dispatch.member_table import MemberTable
from relserve.policies.dispatch.state import Column, Request

STEEP = 8.0
REQUEST_TOKENS = 64.0
BETA = 1.2
STALE_S = 5.0


class Prism:
    """The published router.

    Args:
        weights: w_i of Eq. 9, in the order latency, load, capacity, affinity.
        counts_own: whether what was sent since a report is added to it, which the paper does not say; that is
            PRISM with our bookkeeping.
    """

    def __init__(
        self, name: str = "prism", weights: tuple[float, float, float, float] = (1.0, 1.0, 1.0, 1.0),
        counts_own: bool = False,
    ) -> None:  # fmt: skip
        self.name, self.weights, self.counts_own = name, weights, counts_own
        self._next = 0

    def choose(self, request: Request, members: MemberTable, now_s: float) -> int:
        """See `DispatchPolicy.choose`: the highest score."""
        members.some()
        costs = np.where(members.ages_s(now_s) <= STALE_S, -self.scores(request, members), np.inf)
        found = in_turn(costs, self._next)
        self._next = found + 1
        return found

    def scores(self, request: Request, members: MemberTable) -> Column:
        """The logarithm of Eq. 9, which does not vanish where a score does."""
        latency, load, capacity, affinity = self.weights
        return (
            latency * self.latency(request, members) + load * self.load(members)
            + capacity * self.capacity(request, members) + affinity * self.affinity(request, members)
        )  # fmt: skip

    def latency(self, request: Request, members: MemberTable) -> Column:
        """log S_latency."""
        limit_s = min(request.ttft_slo_s, 1e9)
        if limit_s >= 1e9:
            limit_s = request.tpot_slo_s if request.tpot_slo_s < 1e9 else 1.0
        found: Column = -np.logaddexp(0.0, STEEP * (members["step_s"] / max(limit_s, 1e-6) - 1.0))
        return found

    def load(self, members: MemberTable) -> Column:
        """log S_load."""
        requests, tokens = members["num_running"] + members["num_waiting"], members["prompt_tokens"]
        if self.counts_own:
            requests, tokens = requests + members["since_num"], tokens + members["since_prompt"]
        pending = tokens + REQUEST_TOKENS * requests
        found: Column = -np.log1p(pending / np.maximum(members["peak_tokens_per_s"], 1e-9))
        return found

    def capacity(self, request: Request, members: MemberTable) -> Column:
        """log S_capacity."""
        need = max(request.prompt_tokens + request.output_tokens, 1.0)
        free = members["free_tokens"] - members["since_need"] if self.counts_own else members["free_tokens"]
        found: Column = -np.logaddexp(0.0, -STEEP * (free / need - 1.0))
        return found

    def affinity(self, request: Request, members: MemberTable) -> Column:
        """log S_affinity."""
        return np.where(members.held(request) > 0, np.log(BETA), 0.0)
