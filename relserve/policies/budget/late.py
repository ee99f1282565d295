"""Prompts that will be late in any case let those go first that can be in time yet.

Where more comes than can be computed, prompts in the order of arrival would each get their turn when their
limit is just over, and nobody's first token would be in time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

SPARE = 1.25  # times what a prompt takes must be left: other prompts get a part of each step
PATIENCE = 10.0  # limits; who has waited for longer lets nobody go first any more


@dataclass(slots=True)
class Late:
    """Sees those that wait for a step, in their order, and says who stays out of it.

    Attributes:
        token_s: seconds for each token of a prompt, at the pace that rows which decode leave.
        room: prompt tokens that the step has for those that wait; 0 while another prompt is at work.
        late: ids of those that will be late though their turn is now.
        in_time: prompt tokens of those that have a limit and can keep it.
    """

    token_s: float
    room: float
    late: list[str] = field(default_factory=list)
    in_time: int = 0

    def see(self, request_id: str, waited_s: float, limit_s: float, tokens: int) -> None:
        """One of them.

        Args:
            waited_s: since it came.
            limit_s: on the time until its first token (TTFT); infinite for none.
            tokens: of its prompt.
        """
        if waited_s + SPARE * tokens * self.token_s <= limit_s:
            self.in_time += tokens if limit_s < inf else 0
        elif waited_s < PATIENCE * limit_s:
            self.late.append(request_id)

    def held(self) -> frozenset[str]:
        """Nobody, where nobody can be in time; but for the first, where those who can be leave room."""
        if not self.in_time:
            return frozenset()
        return frozenset(self.late[self.in_time < self.room :])
