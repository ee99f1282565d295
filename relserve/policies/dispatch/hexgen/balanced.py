"""HexGen-Text2SQL's dispatcher: the shortest queue against the fastest engine (section 4.1)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from relserve.policies.dispatch.member_table import MemberTable
from relserve.policies.dispatch.state import Column, Request

TYPICAL_DECODES = 32.0  # requests that decode together where a step's time is told in advance
ALPHA, BETA = 0.3, 1000.0


class WorkloadBalanced:
    """As published: the greatest (1 - alpha) beta / t_queue - alpha t_comp (Eq. 4).

    A member with t_queue zero has the best first term there can be: among such ones the least alpha t_comp
    decides, then the fewest requests. The paper's coordinator knows its engines' queues, so what was sent
    since a report counts.

    Args:
        alpha: from 0, the shortest queue, to 1, the fastest engine.
        beta: weighs the two, in square seconds; the paper fixes it "by some trials" and does not tell it.
        queue_s: t_queue of each member; as published the work of what waits (Eq. 3), or `prompts_s`.
    """

    def __init__(
        self, name: str = "hexgen", alpha: float = ALPHA, beta: float = BETA,
        queue_s: Callable[[MemberTable], Column] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.alpha, self.beta, self._queue_s = name, alpha, beta, queue_s or waiting_s

    def choose(self, request: Request, members: MemberTable, now_s: float) -> int:
        """See `DispatchPolicy.choose`."""
        members.some()
        before_s = self._queue_s(members)
        costs_s = self.alpha * alone_s(request, members)
        idle = np.flatnonzero(~(before_s > 0))
        if not len(idle):
            return int(np.argmax((1.0 - self.alpha) * self.beta / np.maximum(before_s, 1e-290) - costs_s))
        quickest = idle[costs_s[idle] == costs_s[idle].min()]
        return int(quickest[np.argmin((members["num_running"] + members.num_waiting())[quickest])])


def alone_s(request: Request, members: MemberTable) -> Column:
    """t_comp = t_prefill(L) + t_decode(L_out) (Eq. 2) on each member, beside `TYPICAL_DECODES` others."""
    found: Column = request.prompt_tokens * members["token_s"] + request.output_tokens * decode_s(members)
    return found


def decode_s(members: MemberTable) -> Column:
    """Seconds in which each member says a token of an answer, beside `TYPICAL_DECODES` others."""
    found: Column = members["request_s"] * TYPICAL_DECODES + members["decode_base_s"]
    return found


def waiting_s(members: MemberTable) -> Column:
    """t_queue as published: the work of the requests that wait (Eq. 3), decoding included.

    Where nobody keeps a member's queue, it is made of the prompts that wait and of the mean answer.
    """
    known_s = members["waiting_s"]
    unknown = np.isnan(known_s)
    if not unknown.any():
        return known_s
    waiting = members.num_waiting()
    outputs = members["output_tokens"] + members["since_output"]
    mean_output = outputs / np.maximum(waiting + members["num_running"], 1)
    prompt, output = members["waiting_tokens"] + members["since_prompt"], mean_output * waiting
    return np.where(unknown, prompt * members["token_s"] + output * decode_s(members), known_s)


def prompts_s(members: MemberTable) -> Column:
    """t_queue repaired: until a member gets to a request that comes now.

    The prompts of all that waits or runs count; what others decode meanwhile is decoded beside.
    """
    return np.maximum(members.prompt_tokens(), 0.0) * members["token_s"]
