"""Ours: by predicted seconds, from each member's own cost model, what it reported, and what was sent since.

Prompts go one after the other through what the rows that decode leave of each step: all that a member has
before this one, then this one without what is held of it. Where the request has a limit on the time between
tokens, a step may take that long, as it does where a budget policy keeps limits; how quick a member decodes
within the limit is then worth nothing. Without such a limit steps are as the member made its latest, and the
time of decoding counts. What the request costs the rows that it decodes beside counts in both cases.
"""

from __future__ import annotations

from math import isfinite

import numpy as np

from relserve.policies.dispatch.loads import in_turn
from relserve.policies.dispatch.member_table import MemberTable
from relserve.policies.dispatch.state import Column, Request

LATE = 10.0  # seconds that a second beyond a limit counts
MARGIN = 0.9  # share of the limit on the time between tokens that a step is taken to last
OWN = 0.5  # weight of the request's own prompt beside its wait; what is held of it is saved in full
FLOOR = 16.0  # prompt tokens that every step is taken to have


class Predicted:
    """The member that costs the fewest predicted seconds, the request's own and those of others.

    Args:
        beside: weight of what the rows that decode beside it lose.
    """

    def __init__(self, name: str = "predicted", beside: float = 1.0) -> None:
        self.name, self.beside = name, beside
        self._next = 0

    def choose(self, request: Request, members: MemberTable, now_s: float) -> int:
        """See `DispatchPolicy.choose`."""
        members.some()
        found = in_turn(self.seconds(request, members, now_s), self._next)
        self._next = found + 1
        return found

    def seconds(self, request: Request, members: MemberTable, now_s: float) -> Column:
        """What the request costs on each member."""
        output, has_limit = request.output_tokens, isfinite(request.tpot_slo_s)
        token_s, row_s, base_s = members["token_s"], members["request_s"], members["mixed_base_s"]
        before, number = members.remaining_tokens(now_s), members.num_requests()
        decodes = number - np.minimum(before / max(request.prompt_tokens, 1.0), number)
        rows_s = row_s * (number + 1.0)
        alone_s = members["decode_base_s"] + rows_s
        if has_limit:
            step_s = np.maximum(MARGIN * request.tpot_slo_s, base_s + rows_s + FLOOR * token_s)
            step_s = np.maximum(step_s, alone_s)
            room = np.minimum((step_s - base_s - rows_s) / token_s, members["token_budget"])
        else:
            room = np.maximum(members["budget_tokens"] - members["num_running"], FLOOR)
            step_s = np.maximum(base_s + rows_s + room * token_s, alone_s)
        uncached = np.maximum(request.prompt_tokens - members.held(request), 1.0)
        token_s = step_s / room
        waits_s = before * token_s + self._until_fits_s(request, members, alone_s) + members.silent_s(now_s)
        decode_s = output * alone_s
        own_s = (uncached - (1.0 - OWN) * request.prompt_tokens) * token_s
        cost_s: Column = waits_s + own_s + self.beside * output * row_s * decodes
        if has_limit:
            cost_s += LATE * np.maximum(decode_s - output * request.tpot_slo_s, 0.0)
        else:
            cost_s += decode_s
        if isfinite(request.ttft_slo_s):
            cost_s += LATE * np.maximum(waits_s + uncached * token_s - request.ttft_slo_s, 0.0)
        return cost_s

    def _until_fits_s(self, request: Request, members: MemberTable, alone_s: Column) -> Column:
        """Until memory is free for it: as long as answers take, in proportion to what is missing."""
        need = max(request.prompt_tokens + request.output_tokens, 1.0)
        free = members["free_tokens"] - members["since_need"]
        return np.clip((need - free) / need, 0.0, 1e6) * request.output_tokens * alone_s
