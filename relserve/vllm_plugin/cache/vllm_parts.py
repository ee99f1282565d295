"""The cache's seam to vLLM: every part of it that the files of this folder derive from, call or read.

Each is imported when first asked for. The cache was tested with one release (`TESTED`): what it touches has
no public interface.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vllm import ModelRegistry
    from vllm.engine.arg_utils import EngineArgs
    from vllm.model_executor.layers.attention import Attention
    from vllm.model_executor.layers.attention.attention import get_attention_context
    from vllm.model_executor.models.llama import LlamaAttention, LlamaForCausalLM
    from vllm.model_executor.models.opt import OPTAttention, OPTForCausalLM
    from vllm.v1.attention.backends.cpu_attn import CPUAttentionBackend as PlatformBackend
    from vllm.v1.attention.backends.cpu_attn import CPUAttentionBackendImpl as PlatformAttention
    from vllm.v1.attention.backends.cpu_attn import CPUAttentionMetadataBuilder as PlatformMetadataBuilder
    from vllm.v1.core.kv_cache_utils import KVCacheBlock, resolve_block_hashes
    from vllm.v1.core.single_type_kv_cache_manager import FullAttentionManager, register_all_kvcache_specs
    from vllm.v1.kv_cache_interface import FullAttentionSpec, replace_as
    from vllm.v1.kv_cache_spec_registry import KVCacheSpecRegistry

__all__ = [
    "Attention", "EngineArgs", "FullAttentionManager", "FullAttentionSpec", "KVCacheBlock",
    "KVCacheSpecRegistry", "LlamaAttention", "LlamaForCausalLM", "ModelRegistry", "OPTAttention",
    "OPTForCausalLM", "PlatformAttention", "PlatformBackend", "PlatformMetadataBuilder",
    "get_attention_context", "register_all_kvcache_specs", "replace_as", "resolve_block_hashes",
]  # fmt: skip

TESTED = "0.32"  # the release with which the cache was tested

# The attention over keys and values: the module, and its names for ours.
_ON_CPU = (
    "vllm.v1.attention.backends.cpu_attn",
    {
        "PlatformAttention": "CPUAttentionBackendImpl",
        "PlatformBackend": "CPUAttentionBackend",
        "PlatformMetadataBuilder": "CPUAttentionMetadataBuilder",
    },
)
_ON_CUDA = (
    "vllm.v1.attention.backends.flash_attn",
    {
        "PlatformAttention": "FlashAttentionImpl",
        "PlatformBackend": "FlashAttentionBackend",
        "PlatformMetadataBuilder": "FlashAttentionMetadataBuilder",
    },
)
_MODULE_OF = {
    "Attention": "vllm.model_executor.layers.attention",
    "EngineArgs": "vllm.engine.arg_utils",
    "FullAttentionManager": "vllm.v1.core.single_type_kv_cache_manager",
    "FullAttentionSpec": "vllm.v1.kv_cache_interface",
    "KVCacheBlock": "vllm.v1.core.kv_cache_utils",
    "KVCacheSpecRegistry": "vllm.v1.kv_cache_spec_registry",
    "LlamaAttention": "vllm.model_executor.models.llama",
    "LlamaForCausalLM": "vllm.model_executor.models.llama",
    "ModelRegistry": "vllm",
    "OPTAttention": "vllm.model_executor.models.opt",
    "OPTForCausalLM": "vllm.model_executor.models.opt",
    "get_attention_context": "vllm.model_executor.layers.attention.attention",
    "register_all_kvcache_specs": "vllm.v1.core.single_type_kv_cache_manager",
    "replace_as": "vllm.v1.kv_cache_interface",
    "resolve_block_hashes": "vllm.v1.core.kv_cache_utils",
}


def runs_on_cuda() -> bool:
    """Whether the installed vLLM computes on a GPU of NVIDIA's."""
    return bool(importlib.import_module("vllm.platforms").current_platform.is_cuda())


def __getattr__(name: str) -> Any:
    """A part of vLLM by its name."""
    module, names = _ON_CUDA if name.startswith("Platform") and runs_on_cuda() else _ON_CPU
    if name in names:
        return getattr(importlib.import_module(module), names[name])
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULE_OF[name]), name)
