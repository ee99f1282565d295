"""A step's batch, parted by what its requests hold and how they attend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor


class HiddenRows(NamedTuple):
    """Hidden requests that attend in the same way.

    Attributes:
        tokens: int64 [t], where their tokens are in the batch.
        query_start: int32 [n + 1], the first of each request's tokens among these, and their number.
        block_table: int32 [n, max_blocks], without the mark.
        seq_lens: int32 [n], tokens so far, those of this step among them.
    """

    tokens: Tensor
    query_start: Tensor
    block_table: Tensor
    seq_lens: Tensor


@dataclass(frozen=True)
class HybridMetadata:
    """A batch with hidden requests in it.

    Attributes:
        kv: vLLM's own metadata for the requests that hold keys and values; None: there are none.
        kv_tokens: int64, where their tokens are in the batch.
        whole: hidden requests with all tokens in this step, whose keys and values are at hand.
        few, many: others with few queries each, which absorb, and with many, which reproject.
        x_tokens, x_slots: int64, tokens whose X is to be kept, and where: block * tokens per block + place.
    """

    kv: Any
    kv_tokens: Tensor
    whole: HiddenRows | None
    few: HiddenRows | None
    many: HiddenRows | None
    x_tokens: Tensor
    x_slots: Tensor


class Rows(NamedTuple):
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
        return np.concatenate([np.arange(self.starts[i], self.starts[i + 1]) for i in which])

    def start_among(self, which: np.ndarray) -> np.ndarray:
        """Where each one's tokens start among those of `tokens_of`, and their number."""
        return np.concatenate(([0], np.cumsum(self.num_queries[which]))).astype(np.int32)

    def hidden(self, which: np.ndarray) -> HiddenRows | None:
        """Some hidden requests; None for none."""
        if not len(which):
            return None
        return HiddenRows(
            torch.from_numpy(self.tokens_of(which)),
            torch.from_numpy(self.start_among(which)),
            torch.from_numpy(np.ascontiguousarray(self.block_table[which, 1:], np.int32)),
            torch.from_numpy(self.seq_lens[which].astype(np.int32)),
        )

    def slots(self, which: np.ndarray, tokens_per_block: int) -> np.ndarray:
        """Where the X of the tokens of `tokens_of` belongs."""
        num_queries = self.num_queries[which]
        request = np.repeat(which, num_queries)
        place = self.tokens_of(which) - np.repeat(self.starts[which + 1] - self.seq_lens[which], num_queries)
        blocks = self.block_table[request, 1 + place // tokens_per_block].astype(np.int64)
        slots: np.ndarray = blocks * tokens_per_block + place % tokens_per_block
        return slots


def part_hidden(
    rows: Rows, hidden: np.ndarray, tokens_per_block: int, most_few: int, kv: Any
) -> HybridMetadata:
    """The batch in its parts.

    Args:
        hidden: the hidden requests, in order.
        most_few: queries of a request that still count as few.
        kv: metadata of the others.
    """
    is_whole = rows.num_queries[hidden] == rows.seq_lens[hidden]
    is_few = ~is_whole & (rows.num_queries[hidden] <= most_few)
    others = np.setdiff1d(np.arange(len(rows.seq_lens)), hidden)
    return HybridMetadata(
        kv,
        torch.from_numpy(rows.tokens_of(others)) if kv is not None else torch.empty(0, dtype=torch.int64),
        rows.hidden(hidden[is_whole]),
        rows.hidden(hidden[is_few]),
        rows.hidden(hidden[~is_whole & ~is_few]),
        torch.from_numpy(rows.tokens_of(hidden)),
        torch.from_numpy(rows.slots(hidden, tokens_per_block)),
    )
