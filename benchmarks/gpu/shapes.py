"""Models by their shapes alone: a config.json each, for vLLM's dummy weights. Times are real, texts noise."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from relserve.tiny import MODEL_DIR


class GpuModelShape(NamedTuple):
    """A model.

    Attributes:
        config: as transformers writes it to config.json; empty for the embedded model, which has weights.
        dtype: of weights and of keys and values.
        max_model_len: tokens of a request.
    """

    config: Mapping[str, Any]
    dtype: str
    max_model_len: int

    def arguments(self, folder: Path) -> dict[str, Any]:
        """vLLM's arguments for it; its config is written into a folder."""
        given = {"dtype": self.dtype, "max_model_len": self.max_model_len, "skip_tokenizer_init": True}
        if not self.config:
            return given | {"model": str(MODEL_DIR)}
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(self.config), encoding="utf-8")
        return given | {"model": str(folder), "load_format": "dummy"}


def _opt(hidden: int, layers: int, heads: int) -> dict[str, Any]:
    return {
        "architectures": ["OPTForCausalLM"], "model_type": "opt",
        "hidden_size": hidden, "ffn_dim": 4 * hidden,
        "num_hidden_layers": layers, "num_attention_heads": heads, "max_position_embeddings": 2048,
        "vocab_size": 50272, "word_embed_proj_dim": hidden, "do_layer_norm_before": True, "enable_bias": True,
        "activation_function": "relu", "dropout": 0.0, "layer_norm_elementwise_affine": True,
        "bos_token_id": 2, "eos_token_id": 2, "pad_token_id": 1,
    }  # fmt: skip


def _grouped(
    kind: str, hidden: int, inner: int, layers: int, heads: int, kv_heads: int, words: int
) -> dict[str, Any]:
    return {
        "architectures": [f"{kind}ForCausalLM"], "model_type": kind.lower(), "hidden_size": hidden,
        "intermediate_size": inner, "num_hidden_layers": layers, "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "vocab_size": words, "max_position_embeddings": 8192,
        "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "hidden_act": "silu", "tie_word_embeddings": False,
        "bos_token_id": 1, "eos_token_id": 2,
    }  # fmt: skip


SHAPES = {
    "opt-13b": GpuModelShape(_opt(5120, 40, 40), "float16", 2048),
    "llama-3-8b": GpuModelShape(_grouped("Llama", 4096, 14336, 32, 32, 8, 128256), "bfloat16", 4096),
    "qwen2.5-7b": GpuModelShape(_grouped("Qwen2", 3584, 18944, 28, 28, 4, 152064), "bfloat16", 4096),
    "qwen2.5-32b": GpuModelShape(_grouped("Qwen2", 5120, 27648, 64, 40, 8, 152064), "bfloat16", 4096),
    "opt-small": GpuModelShape(_opt(256, 2, 4), "float16", 2048),  # shows in seconds whether an engine starts
    "embedded": GpuModelShape({}, "float32", 4096),  # for a machine without a GPU
}
