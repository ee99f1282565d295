"""vLLM's OPT and Llama models, whose attention can keep X: registered under names of their own."""

from __future__ import annotations

from typing import Any

from relserve_kernels.dispatch import path_for
from torch import Tensor, nn

from relserve.errors import EngineStartError
from relserve.vllm_plugin.cache.attending import OverX
from relserve.vllm_plugin.cache.backend import HybridAttention, HybridBackend
from relserve.vllm_plugin.cache.operator import keep_x
from relserve.vllm_plugin.cache.spec import HybridSpec
from relserve.vllm_plugin.cache.vllm_parts import (
    Attention,
    LlamaAttention,
    LlamaForCausalLM,
    OPTAttention,
    OPTForCausalLM,
    PlatformAttention,
    PlatformBackend,
    replace_as,
)
from relserve.vllm_plugin.settings import read


class HybridLayer(Attention):
    """vLLM's attention layer, whose blocks can hold X."""

    x_width: int

    def get_kv_cache_spec(self, vllm_config: Any) -> Any:
        impl: Any = self.impl
        impl.over_x.prepare()  # before vLLM looks how much memory is left for blocks
        stock: Any = super().get_kv_cache_spec(vllm_config)
        return replace_as(stock, HybridSpec, x_width=self.x_width)


class HybridOPTAttention(OPTAttention):
    """OPT's attention block, which keeps X."""

    def forward(self, hidden_states: Tensor) -> Tensor:
        qkv, _ = self.qkv_proj(hidden_states)
        query, key, value = qkv.chunk(chunks=3, dim=-1)
        query = query.contiguous()
        keep_x(hidden_states, query, self.attn.layer_name)
        output, _ = self.out_proj(self.attn(query, key, value))
        return output  # type: ignore[no-any-return]


class HybridLlamaAttention(LlamaAttention):
    """Llama's attention block, which keeps X."""

    def forward(self, positions: Tensor, hidden_states: Tensor) -> Tensor:
        qkv, _ = self.qkv_proj(hidden_states)
        query, key, value = qkv.split([self.q_size, self.kv_size, self.kv_size], dim=-1)
        query, key = self.rotary_emb(positions, query, key)
        query = query.contiguous()
        keep_x(hidden_states, query, self.attn.layer_name)
        output, _ = self.o_proj(self.attn(query, key, value))
        return output  # type: ignore[no-any-return]


def make_hybrid(model: nn.Module, vllm_config: Any, stock: type, hybrid: type) -> None:
    """Have every attention block of a model keep X.

    The blocks change their class in place: they stay where vLLM knows them, with their parameters. The
    kernels are compiled now, if they have to be, for in a step all rows would wait for them.

    Args:
        stock, hybrid: vLLM's class of the blocks, and ours.
    """
    x_width = vllm_config.model_config.get_hidden_size()
    kernels = read(vllm_config.additional_config).kernels
    path = path_for(next(model.parameters()).device, kernels)
    for block in model.modules():
        if type(block) is stock:
            block.__class__ = hybrid
            layer: Any = block.attn
            found = type(layer.impl)
            if found is not PlatformAttention:
                name = PlatformBackend.get_name()
                raise EngineStartError(
                    f"the hidden cache is made for the attention backend {name}, and the layers have"
                    f" {found.__name__}; start the engine with --attention-backend {name}, or leave the"
                    " setting 'cache' out"
                )
            layer.__class__, layer.attn_backend, layer.x_width = HybridLayer, HybridBackend, x_width
            layer.impl.__class__, layer.impl.x_width = HybridAttention, x_width
            layer.impl.over_x = OverX(block, x_width, path)


class HybridOPT(OPTForCausalLM):
    """OPT; no rotary positions, so keys and values need not be made of X again."""

    def __init__(self, *, vllm_config: Any, prefix: str = "") -> None:
        super().__init__(vllm_config=vllm_config, prefix=prefix)
        make_hybrid(self, vllm_config, OPTAttention, HybridOPTAttention)


class HybridLlama(LlamaForCausalLM):
    """Llama with as many heads of keys as of queries; its keys are rotated, so only values are absorbed."""

    def __init__(self, *, vllm_config: Any, prefix: str = "") -> None:
        super().__init__(vllm_config=vllm_config, prefix=prefix)
        make_hybrid(self, vllm_config, LlamaAttention, HybridLlamaAttention)
