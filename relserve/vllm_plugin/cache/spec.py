"""What vLLM is told of a layer's cache: blocks of keys and values that can hold X instead.

Importing this file makes the spec known to vLLM, so a process that is only sent one knows it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from relserve.vllm_plugin.cache.manager import HybridManager
from relserve.vllm_plugin.cache.spec_sizes import hidden_tokens_per_block
from relserve.vllm_plugin.cache.vllm_parts import (
    FullAttentionSpec,
    KVCacheSpecRegistry,
    register_all_kvcache_specs,
)


@dataclass(frozen=True, kw_only=True)
class HybridSpec(FullAttentionSpec):
    """Full attention, whose blocks hold keys and values, or X.

    Attributes:
        x_width: numbers in a token's X.
    """

    x_width: int = 0  # of a spec that vLLM merges, until ours fills it in

    @property
    def hidden_tokens_per_block(self) -> int:
        """Tokens of X in a block."""
        kv_width = self.num_kv_heads * (self.head_size + self.head_size_v)
        return hidden_tokens_per_block(self.block_size, kv_width, self.x_width)

    @classmethod
    def merge(cls, specs: Sequence[Any]) -> Any:
        """One spec for all layers; vLLM's own knows nothing of X."""
        [x_width] = {spec.x_width for spec in specs}
        return replace(super().merge(list(specs)), x_width=x_width)

    def max_num_blocks_per_req(self, vllm_config: Any, max_len: int) -> int:
        """Entries of a request's row in the block table: one more, for the mark of a hidden one."""
        return int(super().max_num_blocks_per_req(vllm_config, max_len)) + 1


register_all_kvcache_specs(None)  # vLLM does so by itself only while nothing is registered
KVCacheSpecRegistry.register(HybridSpec, HybridManager, uniform_type_base_spec=FullAttentionSpec)
