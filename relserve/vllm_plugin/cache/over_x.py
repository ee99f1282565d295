"""Attention over X in pages, in plain torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


class PagedX(NamedTuple):
    """X of several requests: pool [num_blocks, tokens_per_block, d], block_table int32 [n, max_blocks], and
    seq_lens int32 [n].
    """

    pool: Tensor
    block_table: Tensor
    seq_lens: Tensor

    def of(self, i: int) -> Tensor:
        """A request's X, [n, d]."""
        num_tokens = int(self.seq_lens[i])
        num_blocks = -(-num_tokens // self.pool.shape[1])
        return self.pool[self.block_table[i, :num_blocks].long()].flatten(0, 1)[:num_tokens]


def attend_absorbed(
    query: Tensor, query_start: Tensor, x: PagedX, wk: Tensor, wv: Tensor, value_bias: Tensor | None,
    scale: float, out: Tensor,
) -> None:  # fmt: skip
    """Scores are X (Wk q), answers (sum p x) Wv + b: neither keys nor values are made."""
    starts = query_start.tolist()
    for i in range(len(starts) - 1):
        rows, asked = x.of(i), query[starts[i] : starts[i + 1]]
        scores = torch.einsum("mhd,nd->mhn", torch.einsum("mhe,dhe->mhd", asked, wk), rows) * scale
        seen = torch.ones(len(asked), len(rows), dtype=torch.bool).tril(len(rows) - len(asked))
        p = scores.masked_fill(~seen[:, None], float("-inf")).softmax(-1)
        mixed = torch.einsum("mhn,nd->mhd", p, rows)
        answer = torch.einsum("mhd,dhe->mhe", mixed, wv)
        out[starts[i] : starts[i + 1]] = answer if value_bias is None else answer + value_bias


def attend_reprojected(
    query: Tensor, query_start: Tensor, x: PagedX,
    project: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]], scale: float, out: Tensor,
) -> None:  # fmt: skip
    """Keys and values are made of X again."""
    starts = query_start.tolist()
    for i in range(len(starts) - 1):
        rows, asked = x.of(i), query[starts[i] : starts[i + 1]]
        key, value = project(torch.arange(len(rows)), rows)
        seen = torch.ones(len(asked), len(rows), dtype=torch.bool).tril(len(rows) - len(asked))
        answer = scaled_dot_product_attention(
            asked.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1), attn_mask=seen, scale=scale
        )
        out[starts[i] : starts[i + 1]] = answer.transpose(0, 1)
