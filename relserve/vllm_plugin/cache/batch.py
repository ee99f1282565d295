"""A step's batch, parted by what its requests hold and how they attend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor


class HiddenRows(NamedTuple):
    """Hidden requests that attend over X.

    Attributes:
        tokens: int64 [t], where their tokens are in the batch.
        query_start: int32 [n + 1], the first of each request's tokens among these, and their number.
        block_table: int32 [n, max_blocks], without the mark, as wide as the longest of them needs.
        seq_lens: int32 [n], tokens so far, those of this step among them.
    """

    tokens: Tensor
    query_start: Tensor
    block_table: Tensor
    seq_lens: Tensor

    def to(self, device: torch.device) -> HiddenRows:
        """They on a device."""
        return HiddenRows(*(each.to(device) for each in self))


class MadeRows(NamedTuple):
    """Hidden requests that attend over keys and values, in blocks that are theirs for one layer.

    Those of this step's tokens are at hand; those of earlier tokens are made again of X.

    Attributes:
        which: the requests' places in the batch.
        tokens: int64 [t], where their tokens are in the batch.
        x_block, x_place: int64 [e], where the X of their earlier tokens lies.
        positions: int64 [e], the earlier tokens' places in their texts.
        earlier_slots, slots: int64 [e] and [t], where keys and values of both are put.
        block_table: int32 [n, max_blocks], of the blocks for one layer.
        num_blocks: of them.
    """

    which: np.ndarray
    tokens: Tensor
    x_block: Tensor
    x_place: Tensor
    positions: Tensor
    earlier_slots: Tensor
    slots: Tensor
    block_table: Tensor
    num_blocks: int

    def to(self, device: torch.device) -> MadeRows:
        """They on a device; `which` stays on the host."""
        moved: dict[str, Any] = {
            name: each.to(device) for name, each in self._asdict().items() if isinstance(each, Tensor)
        }
        return self._replace(**moved)


class LayerBatch(NamedTuple):
    """What a layer needs to answer `rows`: vLLM's metadata of them, and the blocks for one layer."""

    rows: MadeRows
    attention: Any
    blocks: Tensor


@dataclass(frozen=True)
class HybridMetadata:
    """A batch with hidden requests in it.

    Attributes:
        kv: vLLM's own metadata for the requests that hold keys and values; None: there are none.
        kv_tokens: int64, where their tokens are in the batch.
        absorbed: hidden requests that attend over X; None: none do.
        made: hidden requests that attend over keys and values, in groups that share the blocks for one layer.
        x_tokens, x_slots: int64, tokens whose X is to be kept, and where: block * tokens per block + place.
    """

    kv: Any
    kv_tokens: Tensor
    absorbed: HiddenRows | None
    made: list[LayerBatch]
    x_tokens: Tensor
    x_slots: Tensor


class BatchRows(NamedTuple):
    """The requests of a batch, as arrays: where each one's tokens start (and how many there are), tokens so
    far, and blocks.
    """

    starts: np.ndarray
    seq_lens: np.ndarray
    block_table: np.ndarray

    @property
    def num_queries(self) -> np.ndarray:
        """Tokens of this step, of each request."""
        return np.diff(self.starts)

    def is_hidden(self) -> np.ndarray:
        """Which begin with the null block."""
        begins_null: np.ndarray = self.block_table[:, 0] == 0
        return begins_null & (self.seq_lens > 0)

    def tokens_of(self, which: np.ndarray) -> np.ndarray:
        """Where the tokens of some requests are in the batch, in order."""
        ranges = [np.arange(self.starts[i], self.starts[i + 1]) for i in which]
        return np.concatenate(ranges) if ranges else np.empty(0, np.int64)

    def start_among(self, which: np.ndarray) -> np.ndarray:
        """Where each one's tokens start among those of `tokens_of`, and their number."""
        return np.concatenate(([0], np.cumsum(self.num_queries[which]))).astype(np.int32)

    def hidden(self, which: np.ndarray, tokens_per_block: int) -> HiddenRows | None:
        """Some hidden requests that attend over X; None for none."""
        if not len(which):
            return None
        num_blocks = -(-int(self.seq_lens[which].max()) // tokens_per_block)
        return HiddenRows(
            torch.from_numpy(self.tokens_of(which)),
            torch.from_numpy(self.start_among(which)),
            torch.from_numpy(np.ascontiguousarray(self.block_table[which, 1 : 1 + num_blocks], np.int32)),
            torch.from_numpy(self.seq_lens[which].astype(np.int32)),
        )

    def made(self, which: np.ndarray, tokens_per_block: int, block_size: int) -> MadeRows:
        """Some hidden requests that attend over keys and values, in blocks of their own from 0 on."""
        lengths, queries = self.seq_lens[which].astype(np.int64), self.num_queries[which].astype(np.int64)
        num_blocks = -(-lengths // block_size)
        first_block = np.cumsum(num_blocks) - num_blocks
        request, place = _places(np.zeros_like(lengths), lengths - queries)
        of_new, new_place = _places(lengths - queries, lengths)
        block = self.block_table[which[request], 1 + place // tokens_per_block]
        return MadeRows(
            which,
            torch.from_numpy(self.tokens_of(which)),
            torch.from_numpy(block.astype(np.int64)),
            torch.from_numpy(place % tokens_per_block),
            torch.from_numpy(place),
            torch.from_numpy(first_block[request] * block_size + place),
            torch.from_numpy(first_block[of_new] * block_size + new_place),
            torch.from_numpy((first_block[:, None] + np.arange(num_blocks.max())).astype(np.int32)),
            int(num_blocks.sum()),
        )

    def slots(self, which: np.ndarray, tokens_per_block: int) -> np.ndarray:
        """Where the X of the tokens of `tokens_of` belongs."""
        num_queries = self.num_queries[which]
        request = np.repeat(which, num_queries)
        place = self.tokens_of(which) - np.repeat(self.starts[which + 1] - self.seq_lens[which], num_queries)
        blocks = self.block_table[request, 1 + place // tokens_per_block].astype(np.int64)
        slots: np.ndarray = blocks * tokens_per_block + place % tokens_per_block
        return slots


def _places(begin: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The whole numbers from each begin to each end, and for each of them which of the ranges it is of."""
    counts = end - begin
    which = np.repeat(np.arange(len(counts)), counts)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts - begin, counts)


def grouped(which: np.ndarray, num_tokens: np.ndarray, most_tokens: int) -> list[np.ndarray]:
    """Requests in order, parted so that no group has more tokens than most_tokens, unless it is one request.

    Args:
        which: the requests.
        num_tokens: of each of them.
    """
    groups: list[list[int]] = []
    room = 0
    for request, tokens in zip(which.tolist(), num_tokens.tolist(), strict=True):
        if not groups or tokens > room:
            groups.append([])
            room = most_tokens
        groups[-1].append(request)
        room -= tokens
    return [np.array(group) for group in groups]
