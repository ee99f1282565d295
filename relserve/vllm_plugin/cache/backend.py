"""Attention of a batch of both kinds: vLLM's own over keys and values, and ours over X.

vLLM's own is the platform's: see `vllm_parts.py`. Lengths and blocks are parted on the host.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from relserve_kernels.pages import PagedX
from torch import Tensor

from relserve.vllm_plugin.cache.attending import AttentionShape, absorbs
from relserve.vllm_plugin.cache.batch import BatchRows, HybridMetadata, LayerBatch, grouped
from relserve.vllm_plugin.cache.spec_sizes import hidden_tokens_per_block
from relserve.vllm_plugin.cache.vllm_parts import (
    PlatformAttention,
    PlatformBackend,
    PlatformMetadataBuilder,
)
from relserve.vllm_plugin.settings import read

MOST_TOKENS_MADE = 8192  # whose keys and values are made at once, unless one request has more


class HybridBackend(PlatformBackend):
    """vLLM's attention, which keeps keys and values itself: not those of hidden requests."""

    forward_includes_kv_cache_update = True

    @staticmethod
    def get_impl_cls() -> type[Any]:
        return HybridAttention

    @staticmethod
    def get_builder_cls() -> type[Any]:
        return HybridBuilder


class HybridBuilder(PlatformMetadataBuilder):
    """Makes a step's metadata; without hidden requests, vLLM's own."""

    _held = torch.empty(0)

    def build(self, common_prefix_len: int, common_attn_metadata: Any, fast_build: bool = False) -> Any:
        batch = common_attn_metadata
        rows = BatchRows(
            batch.query_start_loc_cpu[: batch.num_reqs + 1].numpy(),
            batch.seq_lens[: batch.num_reqs].cpu().numpy(),
            batch.block_table_tensor[: batch.num_reqs].cpu().numpy(),
        )
        is_hidden = rows.is_hidden()
        if not is_hidden.any():
            return super().build(common_prefix_len, batch, fast_build)
        place = self._on_device
        others, hidden = np.flatnonzero(~is_hidden), np.flatnonzero(is_hidden)
        over_x = self._absorbed(rows, hidden)
        of_x = rows.hidden(hidden[over_x], self._spec.hidden_tokens_per_block)
        return HybridMetadata(
            super().build(0, _only(batch, rows, others), fast_build) if len(others) else None,
            place(rows.tokens_of(others)),
            of_x.to(self.device) if of_x is not None else None,
            [self._made(batch, rows, group) for group in self._groups(rows, hidden[~over_x])],
            place(rows.tokens_of(hidden)),
            place(rows.slots(hidden, self._spec.hidden_tokens_per_block)),
        )

    def _on_device(self, values: np.ndarray) -> Tensor:
        return torch.from_numpy(values).to(self.device)

    @property
    def _spec(self) -> Any:
        return self.kv_cache_spec

    def _absorbed(self, rows: BatchRows, hidden: np.ndarray) -> np.ndarray:
        """Which of the hidden requests attend over X."""
        if not read(self.vllm_config.additional_config).absorbs:
            return np.zeros(len(hidden), bool)
        shape: AttentionShape = self.vllm_config.compilation_config.static_forward_context[
            self.layer_names[0]
        ].impl.over_x.shape
        return absorbs(rows.num_queries[hidden], rows.seq_lens[hidden], shape)

    def _groups(self, rows: BatchRows, which: np.ndarray) -> list[np.ndarray]:
        return grouped(which, rows.seq_lens[which], MOST_TOKENS_MADE)

    def _made(self, batch: Any, rows: BatchRows, which: np.ndarray) -> LayerBatch:
        made = rows.made(which, self._spec.hidden_tokens_per_block, self._spec.block_size).to(self.device)
        described = _only(batch, rows, which).replace(
            block_table_tensor=made.block_table, slot_mapping=made.slots
        )
        return LayerBatch(made, super().build(0, described), self._blocks(made.num_blocks))

    def _blocks(self, num_blocks: int) -> Tensor:
        """Memory for keys and values of one layer; never NaN, which vLLM's kernel would take in."""
        if len(self._held) < num_blocks:
            spec = self._spec
            shape = (num_blocks, spec.num_kv_heads, spec.block_size, 2 * spec.head_size)
            dtype: Any = spec.dtype
            self._held = torch.zeros(shape, dtype=dtype, device=self.device)
        return self._held[:num_blocks]


def _only(batch: Any, rows: BatchRows, which: np.ndarray) -> Any:
    """vLLM's description of a batch, with some of its requests."""
    device = batch.seq_lens.device
    index = torch.from_numpy(which).to(device)
    start = torch.from_numpy(rows.start_among(which)).to(batch.query_start_loc.dtype)
    return batch.replace(
        query_start_loc=start.to(device), query_start_loc_cpu=start, seq_lens=batch.seq_lens[index],
        num_reqs=len(which), num_actual_tokens=int(start[-1]),
        max_query_len=int(rows.num_queries[which].max()), max_seq_len=int(rows.seq_lens[which].max()),
        block_table_tensor=batch.block_table_tensor[index],
        slot_mapping=batch.slot_mapping[torch.from_numpy(rows.tokens_of(which)).to(device)],
    )  # fmt: skip


class HybridAttention(PlatformAttention):
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
        pool = x_pool(kv_cache, self.x_width)
        if batch.absorbed is not None:
            rows = batch.absorbed
            asked = qkv[0][rows.tokens]
            answer = torch.empty_like(asked)
            x = PagedX(pool, rows.block_table, rows.seq_lens)
            self.over_x.attend(asked, rows.query_start, x, self.scale, answer)
            output[rows.tokens] = answer
        for made in batch.made:
            self._attend_made(layer, qkv, pool, made, output)

    def _attend_made(
        self, layer: Any, qkv: tuple[Tensor, ...], pool: Tensor, made: LayerBatch, output: Tensor
    ) -> None:
        rows = made.rows
        if len(rows.positions):
            key, value = self.over_x.project(rows.positions, pool[rows.x_block, rows.x_place])
            self.do_kv_cache_update(layer, key, value, made.blocks, rows.earlier_slots)
        query, key, value = (each[rows.tokens] for each in qkv)
        self.do_kv_cache_update(layer, key, value, made.blocks, rows.slots)
        answer = torch.empty_like(query)
        super().forward(layer, query, key, value, made.blocks, made.attention, answer)
        output[rows.tokens] = answer


def x_pool(kv_cache: Tensor, x_width: int) -> Tensor:
    """The memory of a layer's blocks as blocks of X: [num_blocks, tokens_per_block, x_width].

    Args:
        kv_cache: [num_blocks, heads, block_size, keys' and values' numbers], in any order within a block.

    Raises:
        ValueError: other memory lies within a block's.
    """
    num_blocks, num_heads, block_size, kv_width = kv_cache.shape
    tokens_per_block = hidden_tokens_per_block(block_size, num_heads * kv_width, x_width)
    sizes, strides = kv_cache.shape[1:], kv_cache.stride()[1:]
    if sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True)) + 1 != sizes.numel():
        raise ValueError(f"a block of keys and values has gaps: shape {list(sizes)}, strides {list(strides)}")
    return kv_cache.as_strided((num_blocks, tokens_per_block, x_width), (kv_cache.stride(0), x_width, 1))
