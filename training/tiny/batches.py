"""Batches of encoded examples, grouped by length; batch k depends on the stream's seed and k alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

import torch

_POOL_BATCHES = 16  # batches drawn and sorted by length together


class Encoded(NamedTuple):
    """The token ids of an example and the loss weight of predicting each of them."""

    ids: list[int]
    weights: list[float]


Draw = Callable[[int, int], Encoded]
"""Encodes example number `index` of pool number `pool`."""


@dataclass(frozen=True)
class Batch:
    """Token ids (rows, columns), padded on the right, and the loss weight of predicting each of them."""

    ids: torch.Tensor
    weights: torch.Tensor

    @property
    def num_tokens(self) -> int:
        """Number of positions, padding included."""
        return self.ids.numel()


def make_batch(encoded: Sequence[Encoded], pad_id: int) -> Batch:
    """Pad encoded examples to the longest."""
    width = max(len(one.ids) for one in encoded)
    ids = torch.full((len(encoded), width), pad_id, dtype=torch.long)
    weights = torch.zeros(len(encoded), width)
    for row, one in enumerate(encoded):
        ids[row, : len(one.ids)] = torch.tensor(one.ids)
        weights[row, : len(one.ids)] = torch.tensor(one.weights)
    return Batch(ids, weights)


@dataclass
class BatchStream:
    """An endless stream of batches of about `batch_tokens` tokens, without examples over `max_tokens`."""

    draw: Draw
    seed: str
    batch_tokens: int
    max_tokens: int
    pad_id: int
    _pools: dict[int, list[list[Encoded]]] = field(default_factory=dict)

    def batch(self, step: int) -> Batch:
        """Return batch `step`."""
        pool, within = divmod(step, _POOL_BATCHES)
        if pool not in self._pools:
            self._pools = {pool: self._fill(pool)}
        return make_batch(self._pools[pool][within], self.pad_id)

    def _fill(self, pool: int) -> list[list[Encoded]]:
        """Draw examples until they fill the pool, sort them by length, cut them into equal parts."""
        drawn: list[Encoded] = []
        total, index = 0, 0
        while total < self.batch_tokens * _POOL_BATCHES:
            one = self.draw(pool, index)
            index += 1
            if len(one.ids) <= self.max_tokens:
                drawn.append(one)
                total += len(one.ids)
        drawn.sort(key=lambda one: len(one.ids))
        parts: list[list[Encoded]] = [[] for _ in range(_POOL_BATCHES)]
        done = 0
        for one in drawn:
            parts[min(_POOL_BATCHES - 1, done * _POOL_BATCHES // total)].append(one)
            done += len(one.ids)
        Random(f"{self.seed}-{pool}").shuffle(parts)
        return parts
