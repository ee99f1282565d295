"""Those that go back to where a prompt's beginning is held."""

from __future__ import annotations

import zlib

import numpy as np

from relserve.policies.dispatch.board import Board
from relserve.policies.dispatch.loads import LeastUnanswered
from relserve.policies.dispatch.state import Request

MIX = np.uint64(0x9E3779B97F4A7C15)


class Session:
    """A session always goes to the same member, by hash; only those of a member that leaves move.

    What has no session goes in turn to the fewest requests.
    """

    def __init__(self, name: str = "session") -> None:
        self.name = name
        self._other = LeastUnanswered(name)
        self._seeds = np.zeros(0, np.uint64)
        self._names: list[str] = []

    def choose(self, request: Request, board: Board, now_s: float) -> int:
        """See `DispatchPolicy.choose`."""
        board.some()
        if not request.session:
            return self._other.choose(request, board, now_s)
        if board.names != self._names:
            self._names = list(board.names)
            self._seeds = np.array([zlib.crc32(name.encode()) for name in self._names], np.uint64)
        mixed = (self._seeds ^ np.uint64(zlib.crc32(request.session.encode()) << 16)) * MIX
        mixed = (mixed ^ (mixed >> np.uint64(29))) * MIX
        return int(np.argmax(mixed ^ (mixed >> np.uint64(32))))


class PrefixAware:
    """The member that holds most of the prompt, if it is half of it at least; else the fewest requests.

    A member with twice as many requests as the mean is passed over, so that one prefix does not fill it.
    """

    def __init__(self, name: str = "prefix", share: float = 0.5, most: float = 2.0) -> None:
        self.name, self.share, self.most = name, share, most
        self._other = LeastUnanswered(name)

    def choose(self, request: Request, board: Board, now_s: float) -> int:
        """See `DispatchPolicy.choose`."""
        board.some()
        load = self._other.measure(board, now_s)
        best, held = -1, self.share * request.prompt_tokens
        for name, tokens in request.cached_tokens.items():
            row = board.row(name)
            if row >= 0 and tokens >= held and load[row] <= self.most * max(float(load.mean()), 1.0):
                best, held = row, tokens
        return best if best >= 0 else self._other.choose(request, board, now_s)
