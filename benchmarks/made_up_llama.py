"""Llama-like models of a wanted size with random weights in bfloat16, made in seconds, kept under build/.

They cost what a trained model of their size costs and know nothing. Their tokenizer and chat template are
those of the embedded model.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.provenance import ROOT
from relserve.tiny import MODEL_DIR

FOLDER = ROOT / "build" / "made_up_llama"
VOCABULARY = 8192
HEAD = 64  # numbers of an attention head


class LlamaShape(NamedTuple):
    """Width of a token, width inside a layer, and layers."""

    hidden: int
    inner: int
    layers: int


# By millions of parameters, embedding included.
SHAPES = {
    10: LlamaShape(320, 896, 6),
    25: LlamaShape(512, 1408, 7),
    60: LlamaShape(768, 2048, 8),
    120: LlamaShape(1024, 2816, 9),
    135: LlamaShape(1024, 2816, 10),
    250: LlamaShape(1024, 4096, 15),
}


def folder_of(millions: int) -> Path:
    """The folder of the model of a size of `SHAPES`, made if it is not there."""
    folder = FOLDER / f"{millions}m"
    if not (folder / "config.json").is_file():
        _make(folder, SHAPES[millions])
    return folder


def num_parameters(shape: LlamaShape) -> int:
    """Numbers that a model of this shape holds."""
    return sum(_size(size) for size in _tensors(shape).values())


def _make(folder: Path, shape: LlamaShape) -> None:
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    random = torch.Generator().manual_seed(shape.hidden)
    weights = {
        name: torch.ones(size, dtype=torch.bfloat16)
        if len(size) == 1
        else (torch.randn(size, generator=random) * 0.02).to(torch.bfloat16)
        for name, size in _tensors(shape).items()
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    for name in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json"):
        shutil.copy(MODEL_DIR / name, folder / name)
    (folder / "config.json").write_text(json.dumps(_config(shape), indent=1), encoding="utf-8")  # the last


def _config(shape: LlamaShape) -> dict[str, Any]:
    config: dict[str, Any] = json.loads((MODEL_DIR / "config.json").read_text(encoding="utf-8"))
    heads = shape.hidden // HEAD
    return config | dict(
        hidden_size=shape.hidden, intermediate_size=shape.inner, num_hidden_layers=shape.layers,
        num_attention_heads=heads, num_key_value_heads=heads, head_dim=HEAD, vocab_size=VOCABULARY,
    )  # fmt: skip


def _tensors(shape: LlamaShape) -> dict[str, tuple[int, ...]]:
    """The size of each tensor, by its name."""
    hidden, inner = shape.hidden, shape.inner
    layer: dict[str, tuple[int, ...]] = {
        **{f"self_attn.{each}_proj.weight": (hidden, hidden) for each in "qkvo"},
        "mlp.gate_proj.weight": (inner, hidden),
        "mlp.up_proj.weight": (inner, hidden),
        "mlp.down_proj.weight": (hidden, inner),
        "input_layernorm.weight": (hidden,),
        "post_attention_layernorm.weight": (hidden,),
    }
    return {
        "model.embed_tokens.weight": (VOCABULARY, hidden),
        **{f"model.layers.{i}.{name}": size for i in range(shape.layers) for name, size in layer.items()},
        "model.norm.weight": (hidden,),
    }


def _size(size: tuple[int, ...]) -> int:
    return size[0] * (size[1] if len(size) == 2 else 1)
