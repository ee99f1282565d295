"""Paged KV memory with a prefix cache: blocks in use, blocks cached, LRU eviction."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence


class BlockPool:
    """Counts blocks; prompt blocks are shared by hash, output blocks are private.

    A cached block that nobody uses stays until memory is wanted, least recently freed first.
    """

    def __init__(self, num_blocks: int, caching: bool = True) -> None:
        self.num_blocks, self.caching = num_blocks, caching
        self.num_free = num_blocks  # blocks that nobody uses, cached ones among them
        self._users: dict[int, int] = {}
        self._idle: OrderedDict[int, None] = OrderedDict()

    def num_cached(self, hashes: Sequence[int]) -> int:
        """Length, in blocks, of the longest prefix of `hashes` that is cached; changes nothing."""
        count = 0
        for h in hashes:
            if h not in self._users and h not in self._idle:
                break
            count += 1
        return count

    def num_idle(self, hashes: Sequence[int]) -> int:
        """How many of these cached blocks nobody uses: taking them costs free blocks too."""
        return sum(h in self._idle for h in hashes)

    def take(self, hashes: Sequence[int], num_new_private: int) -> None:
        """Use prompt blocks (cached or computed now) and some private ones; the caller made sure they fit."""
        for h in hashes:
            if h in self._users:
                self._users[h] += 1
                continue
            self._idle.pop(h, None)
            self._users[h] = 1
            self.num_free -= 1
        self.num_free -= num_new_private
        self._evict()

    def take_private(self, count: int) -> None:
        """Use blocks for output tokens."""
        self.num_free -= count
        self._evict()

    def give_back(self, hashes: Sequence[int], num_private: int) -> None:
        """Free a request's blocks; its prompt blocks stay cached, last ones first to go."""
        for h in reversed(hashes):
            users = self._users[h] - 1
            if users:
                self._users[h] = users
                continue
            del self._users[h]
            self.num_free += 1
            if self.caching:
                self._idle[h] = None
        self.num_free += num_private

    def _evict(self) -> None:
        while len(self._idle) > self.num_free:
            self._idle.popitem(last=False)
