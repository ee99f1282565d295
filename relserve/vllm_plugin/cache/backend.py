"""Attention of a batch of both kinds: vLLM's own over keys and values on a CPU, and ours over X."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from relserve_kernels.pages import PagedX
from torch import Tensor

from relserve.vllm_plugin.cache.batch import HiddenRows, HybridMetadata, Rows, part_hidden
from relserve.vllm_plugin.cache.spec_sizes import hidden_tokens_per_block
from relserve.vllm_plugin.cache.vllm_parts import (
    CPUAttentionBackend,
    CPUAttentionBackendImpl,
    CPUAttentionMetadataBuilder,
)


class HybridBackend(CPUAttentionBackend):
    """vLLM's attention on a CPU, which keeps keys and values itself: not those of hidden requests."""

    forward_includes_kv_cache_update = True

    @staticmethod
    def get_impl_cls() -> type[Any]:
        return HybridAttention

    @staticmethod
    def get_builder_cls() -> type[Any]:
        return HybridBuilder


class HybridBuilder(CPUAttentionMetadataBuilder):
    """Makes a step's metadata; without hidden requests, vLLM's own."""

    def build(self, common_prefix_len: int, common_attn_metadata: Any, fast_build: bool = False) -> Any:
        batch = common_attn_metadata
        rows = Rows(
            batch.query_start_loc_cpu[: batch.num_reqs + 1].numpy(),
            batch.seq_lens[: batch.num_reqs].numpy(),
            batch.block_table_tensor[: batch.num_reqs].numpy(),
        )
        is_hidden = rows.is_hidden()
        if not is_hidden.any():
            return super().build(common_prefix_len, batch, fast_build)
        others = np.flatnonzero(~is_hidden)
        kv = super().build(0, _only(batch, rows, others), fast_build) if len(others) else None
        spec: Any = self.kv_cache_spec
        # As many queries as a head is wide cost the same absorbed as with keys and values made again.
        return part_hidden(rows, np.flatnonzero(is_hidden), spec.hidden_tokens_per_block, spec.head_size, kv)


def _only(batch: Any, rows: Rows, which: np.ndarray) -> Any:
    """vLLM's description of a batch, with some of its requests."""
    index = torch.from_numpy(which)
    start = torch.from_numpy(rows.start_among(which)).to(batch.query_start_loc.dtype)
    return batch.replace(
        query_start_loc=start, query_start_loc_cpu=start, seq_lens=batch.seq_lens[index],
        num_reqs=len(which), num_actual_tokens=int(start[-1]),
        max_query_len=int(rows.num_queries[which].max()), max_seq_len=int(rows.seq_lens[which].max()),
        block_table_tensor=batch.block_table_tensor[index],
        slot_mapping=batch.slot_mapping[torch.from_numpy(rows.tokens_of(which))],
    )  # fmt: skip


class HybridAttention(CPUAttentionBackendImpl):
    """Attends over keys and values with vLLM's kernel, over X with ours.

    Attributes:
        over_x: how the layer attends over X (see `models.py`).
        x_width: numbers in a token's X.
    """

    over_x: Any
    x_width: int

    def forward(
        self, layer: Any, query: Tensor, key: Tensor, value: Tensor, kv_cache: Tensor, attn_metadata: Any,
        output: Tensor, *args: Any, **kwargs: Any,
    ) -> Tensor:  # fmt: skip
        metadata = attn_metadata
        if isinstance(metadata, HybridMetadata):
            self._forward_parts(layer, (query, key, value), kv_cache, metadata, output)
        elif metadata is not None:
            self.do_kv_cache_update(layer, key, value, kv_cache, metadata.slot_mapping)
            super().forward(layer, query, key, value, kv_cache, metadata, output)
        return output

    def _forward_parts(
        self, layer: Any, qkv: tuple[Tensor, ...], kv_cache: Tensor, batch: HybridMetadata, output: Tensor
    ) -> None:
        if batch.kv is not None:
            query, key, value = (each[batch.kv_tokens] for each in qkv)
            self.do_kv_cache_update(layer, key, value, kv_cache, batch.kv.slot_mapping)
            answer = torch.empty_like(query)
            super().forward(layer, query, key, value, kv_cache, batch.kv, answer)
            output[batch.kv_tokens] = answer
        if batch.whole is not None:
            attend_whole(qkv, batch.whole, self.scale, output)
        pool = x_pool(kv_cache, self.x_width)
        for rows, attend in ((batch.few, self.over_x.few), (batch.many, self.over_x.many)):
            if rows is not None:
                self._attend(attend, qkv[0], pool, rows, output)

    def _attend(self, attend: Any, query: Tensor, pool: Tensor, rows: HiddenRows, output: Tensor) -> None:
        asked = query[rows.tokens]
        answer = torch.empty_like(asked)
        attend(asked, rows.query_start, PagedX(pool, rows.block_table, rows.seq_lens), self.scale, answer)
        output[rows.tokens] = answer


def attend_whole(qkv: tuple[Tensor, ...], rows: HiddenRows, scale: float, output: Tensor) -> None:
    """Answer requests all of whose tokens are in this step with the keys and values that were just made.

    Args:
        qkv: each [t, heads, head_dim], of the whole batch.
    """
    starts = rows.query_start.tolist()
    for start, stop in pairwise(starts):
        tokens = rows.tokens[start:stop]
        query, key, value = (each[tokens].transpose(0, 1)[None] for each in qkv)
        found = F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=scale)
        output[tokens] = found[0].transpose(0, 1)


def x_pool(kv_cache: Tensor, x_width: int) -> Tensor:
    """The memory of a layer's blocks as blocks of X: [num_blocks, tokens_per_block, x_width]."""
    num_blocks, num_heads, block_size, kv_width = kv_cache.shape
    tokens_per_block = hidden_tokens_per_block(block_size, num_heads * kv_width, x_width)
    flat = kv_cache.view(num_blocks, -1)
    return flat[:, : tokens_per_block * x_width].view(num_blocks, tokens_per_block, x_width)
