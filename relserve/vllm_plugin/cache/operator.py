"""The operation in a model's graph that keeps X: torch.compile must not look into it."""

from __future__ import annotations

from typing import Any

import torch
from relserve_kernels.store import store_x
from torch import Tensor

from relserve.vllm_plugin.cache.backend import x_pool
from relserve.vllm_plugin.cache.batch import HybridMetadata
from relserve.vllm_plugin.cache.vllm_parts import get_attention_context


@torch.library.custom_op("relserve::keep_x", mutates_args=("query",))
def keep_x(x: Tensor, query: Tensor, layer_name: str) -> None:
    """Write X of the hidden requests' new tokens into their blocks.

    Args:
        x: [t, d], what the layer makes queries, keys and values of.
        query: said to be changed, so that this comes before the attention; it is not.
        layer_name: the attention's, in vLLM's context.
    """
    metadata, layer, kv_cache, _ = get_attention_context(layer_name)
    if isinstance(metadata, HybridMetadata):
        attention: Any = layer.impl
        pool = x_pool(kv_cache, x.shape[-1])
        store_x(x[metadata.x_tokens], pool, metadata.x_slots, attention.over_x.path)


@keep_x.register_fake
def _(x: Tensor, query: Tensor, layer_name: str) -> None:
    """What the compiler runs: nothing."""
