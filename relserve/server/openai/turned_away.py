"""What the engine's gate has just refused: who asks as much is told the same, and the engine not asked.

To send a request to an engine that refuses it takes as much of a processor as a small answer does. An
overloaded server would do little else.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from math import ceil, inf
from typing import NamedTuple

from relserve.gate.request_group import size_of
from relserve.server.openai.refusal import LIMIT, Refusal

HOLDS_S, OF_LIMIT = 0.2, 0.05  # how long that counts at most, and for how much of the limit
MOST = 1000  # users, classes and sizes


class Want(NamedTuple):
    """What a request asks of the gate.

    Attributes:
        user, slo: whose it is, and its class of limits by name; "" with a limit of its own, or none.
        tokens: of its answers at most.
        limit_s: seconds to its end; infinity: that of its class, or none.
        size: of its prompt, see `size_of`.
    """

    user: str
    slo: str
    tokens: int
    limit_s: float
    size: int = 0

    @classmethod
    def of(cls, user: str, slo: str | float | None, tokens: int, prompt_tokens: int) -> Want:
        """As a request says it."""
        size = size_of(prompt_tokens)
        if isinstance(slo, str):
            return cls(user, slo, tokens, inf, size)
        return cls(user, "", tokens, inf if slo is None else slo, size)

    @property
    def key(self) -> tuple[str, str, int]:
        """Of those that the gate takes as alike."""
        return self.user, self.slo, self.size


class _Told(NamedTuple):
    want: Want
    message: str
    retry_s: float
    at_s: float


class TurnedAway:
    """The latest refusal of each user, class and size of prompts.

    Args:
        clock: seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._latest: OrderedDict[tuple[str, str, int], _Told] = OrderedDict()

    @contextmanager
    def asking(self, want: Want) -> Iterator[None]:
        """While inside, the engine is asked, whose refusal is remembered.

        Raises:
            Refusal: 429, one no harder than this was refused just now; in the words of that time, with what
                is left of its time to wait.
        """
        self._check(want)
        try:
            yield
        except Refusal as refusal:
            if refusal.status == HTTPStatus.TOO_MANY_REQUESTS:
                self._remember(_Told(want, refusal.message, refusal.retry_s or 0.0, self._clock()))
            raise

    def _check(self, want: Want) -> None:
        told = self._latest.get(want.key)
        if told is None or want.tokens < told.want.tokens or want.limit_s > told.want.limit_s:
            return
        passed_s = self._clock() - told.at_s
        if passed_s < min(HOLDS_S, OF_LIMIT * told.want.limit_s):
            words = f"{told.message} (as of {ceil(1e3 * passed_s)} ms ago)"
            raise Refusal(
                HTTPStatus.TOO_MANY_REQUESTS, words, LIMIT, retry_s=max(told.retry_s - passed_s, 0.0)
            )

    def _remember(self, told: _Told) -> None:
        self._latest[told.want.key] = told
        self._latest.move_to_end(told.want.key)
        while len(self._latest) > MOST:
            self._latest.popitem(last=False)
