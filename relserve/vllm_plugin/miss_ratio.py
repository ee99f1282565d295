"""How much of a relQuery's prompts the prefix cache lacks, from a few of its waiting rows (Eq. 11)."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Hashable

from relserve.policies.scheduling.prefixes import num_known
from relserve.policies.scheduling.state import RelState
from relserve.vllm_plugin.host import HostRequest
from relserve.vllm_plugin.queue import RelQueue

SAMPLE_EVERY = 8  # steps between looks into the prefix cache for one relQuery


class MissRatios:
    """Measures miss ratios, without touching the cache; a ratio is kept for SAMPLE_EVERY steps.

    Args:
        num_cached_tokens: tells how many of a row's tokens the prefix cache has, in blocks of `block_size`.
        of_each_other: what one row has in common with those before it counts as cached, too.
    """

    def __init__(
        self,
        queue: RelQueue,
        num_cached_tokens: Callable[[HostRequest], int],
        block_size: int,
        sample_size: int,
        seed: int = 0,
        of_each_other: bool = False,
    ) -> None:
        self._queue, self._of_each_other = queue, of_each_other
        self._look_up, self._block_size = num_cached_tokens, block_size
        self._sample_size, self._random = sample_size, random.Random(seed)
        self._measured: dict[str, tuple[int, float]] = {}  # the step, and the ratio

    def of(self, state: RelState, step: int) -> float:
        """Share of prompt tokens not in the cache; 1 where no row waits."""
        known = self._measured.get(state.rel_id)
        if known is not None and step - known[0] < SAMPLE_EVERY:
            return known[1]
        ratio = self._measure(self._queue.rows(state.rel_id))
        self._measured[state.rel_id] = step, ratio
        return ratio

    def latest(self, rel_id: str) -> float:
        """As measured last; 1 where none was."""
        return self._measured.get(rel_id, (0, 1.0))[1]

    def forget(self, rel_id: str) -> None:
        """A relQuery has left."""
        self._measured.pop(rel_id, None)

    def _measure(self, rows: deque[HostRequest]) -> float:
        sample = self._sample(rows)
        seen: set[Hashable] = set()
        cached = sum(self._num_cached_tokens(row, seen) for row in sample)
        return 1.0 - cached / max(sum(row.num_tokens for row in sample), 1)

    def _num_cached_tokens(self, row: HostRequest, seen: set[Hashable]) -> int:
        cached, size = self._look_up(row), self._block_size
        if not self._of_each_other:
            return cached
        known = num_known(row.block_hashes, cached // size, seen) * size
        return min(max(cached, known), row.num_tokens)

    def _sample(self, rows: deque[HostRequest]) -> list[HostRequest]:
        if len(rows) <= self._sample_size:
            return list(rows)
        # Indices, because a deque of thousands is cheap to index near its ends only.
        near = min(len(rows), 4 * self._sample_size)
        return [rows[i] for i in self._random.sample(range(near), self._sample_size)]
