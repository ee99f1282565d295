"""Prompts that will be late in any case let those go first that can be in time yet.

Where more comes than can be computed, prompts in the order of arrival would each get their turn when their
limit is just over, and nobody's first token would be in time.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import NamedTuple

SPARE = 1.25  # times what a prompt takes must be left: other prompts get a part of each step
PATIENCE = 10.0  # limits; who has waited for longer lets nobody go first any more


class Waiting(NamedTuple):
    """A request whose prompt waits.

    Attributes:
        waited_s: since it came.
        limit_s: on the time until its first token (TTFT); infinite for none.
        tokens: of its prompt.
    """

    request_id: str
    waited_s: float
    limit_s: float
    tokens: int


def late(waiting: Iterable[Waiting], token_s: float) -> frozenset[str]:
    """Who lets others go first now; nobody, where nobody that waits can be in time.

    Args:
        token_s: seconds for each token of a prompt, at the pace that rows which decode leave.
    """
    found, is_somebody_in_time = [], False
    for request_id, waited_s, limit_s, tokens in waiting:
        if not is_late(waited_s, limit_s, tokens, token_s):
            is_somebody_in_time |= limit_s < inf
        elif is_patient(waited_s, limit_s):
            found.append(request_id)
    return frozenset(found) if is_somebody_in_time else frozenset()


def is_late(waited_s: float, limit_s: float, tokens: int, token_s: float) -> bool:
    """Whether a prompt will be late though its turn is now."""
    return waited_s + SPARE * tokens * token_s > limit_s


def is_patient(waited_s: float, limit_s: float) -> bool:
    """Whether a late one lets others go first."""
    return waited_s < PATIENCE * limit_s
