"""Paged KV memory with a prefix cache: blocks in use, blocks cached, LRU eviction."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence


class SimulatedBlockPool:
    """Counts blocks; prompt blocks are shared by hash, output blocks are private.

    A cached block that nobody uses stays until memory is wanted, least recently freed first. A prompt's last
    blocks are freed first. So two things hold for every prompt: its cached blocks come before those that are
    not cached, and of the cached ones those in use come before the idle ones.
    """

    def __init__(self, num_blocks: int) -> None:
        self.num_blocks = self.num_free = num_blocks  # `num_free` counts idle cached blocks too
        self._users: dict[int, int] = {}  # of every cached block
        self._idle: OrderedDict[int, None] = OrderedDict()

    def num_cached(self, hashes: Sequence[int]) -> int:
        """Length, in blocks, of the longest prefix of `hashes` that is cached; changes nothing."""
        users, low, high = self._users, 0, len(hashes)
        if high and hashes[-1] in users:
            return high
        while low < high:
            middle = (low + high) // 2
            if hashes[middle] in users:
                low = middle + 1
            else:
                high = middle
        return low

    def num_idle(self, hashes: Sequence[int]) -> int:
        """How many of these cached blocks nobody uses: taking them costs free blocks too."""
        users, count = self._users, 0
        for h in reversed(hashes):
            if users[h]:
                break
            count += 1
        return count

    def take(self, hashes: Sequence[int], num_new_private: int) -> None:
        """Use prompt blocks (cached or computed now) and some private ones; the caller made sure they fit."""
        users, num_taken = self._users, num_new_private
        for h in hashes:
            count = users.get(h)
            if count:
                users[h] = count + 1
                continue
            if count == 0:
                del self._idle[h]
            users[h] = 1
            num_taken += 1
        self.take_private(num_taken)

    def take_private(self, count: int) -> None:
        """Use blocks for output tokens."""
        self.num_free -= count
        for _ in range(len(self._idle) - self.num_free):
            del self._users[self._idle.popitem(last=False)[0]]

    def give_back(self, hashes: Sequence[int], num_private: int) -> None:
        """Free a request's blocks; its prompt blocks stay cached, last ones first to go."""
        users, num_freed = self._users, num_private
        for h in reversed(hashes):
            count = users[h] - 1
            users[h] = count
            if not count:
                self._idle[h] = None
                num_freed += 1
        self.num_free += num_freed
