"""By predicted finish: ours for the steps of workflows, which looks at no limits."""

from __future__ import annotations

import numpy as np

from relserve.policies.dispatch.member_table import MemberTable
from relserve.policies.dispatch.state import Request


class PredictedFinish:
    """The member that is expected to be done with the request first.

    Prompts go one after the other through what a step's budget leaves beside the rows that decode, all that
    waits or runs before this one; then it decodes, a token a step. What a member holds of the prompt needs
    no computing there.
    """

    def __init__(self, name: str = "finish") -> None:
        self.name = name

    def choose(self, request: Request, members: MemberTable, now_s: float) -> int:
        """See `DispatchPolicy.choose`."""
        members.some()
        row_s, base_s, decodes = members["request_s"], members["mixed_base_s"], members["num_running"]
        room = np.maximum(members["budget_tokens"] - decodes, 1.0)
        rows_s = row_s * decodes
        full_s = members["token_s"] * room + rows_s + base_s
        before_s = np.maximum(members.prompt_tokens(), 0.0) / room * full_s
        own = request.prompt_tokens - members.held(request)
        alone_s = rows_s + row_s + members["decode_base_s"]
        # It shares its steps with prompts as long as there are prompts while it decodes.
        busy_s = np.minimum(request.output_tokens * full_s, before_s)
        decode_s = request.output_tokens * alone_s
        return int(np.argmin(before_s + own / room * full_s + decode_s + busy_s * (1.0 - alone_s / full_s)))
