"""Small made-up models that cannot keep hidden states: grouped heads, sliding windows, quantised weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.vllm_plugin.cache.hybrid_engines import build_model

WINDOW = 64  # tokens
INT8 = {  # as compressed-tensors writes it: weights a channel, inputs a token
    "quant_method": "compressed-tensors", "format": "int-quantized", "quantization_status": "compressed",
    "ignore": ["lm_head"],
    "config_groups": {
        "group_0": {
            "targets": ["Linear"],
            "weights": {
                "num_bits": 8, "type": "int", "symmetric": True, "strategy": "channel", "dynamic": False
            },
            "input_activations": {
                "num_bits": 8, "type": "int", "symmetric": True, "strategy": "token", "dynamic": True
            },
        }
    },
}  # fmt: skip


def build_unfit(name: str, folder: Path) -> Path:
    """A model: "grouped", "sliding" or "int8"; or one that could, as `build_model` makes it."""
    if name not in ("grouped", "sliding", "int8"):
        return build_model(name, folder)
    path = build_model("llama", folder)
    if name == "grouped":
        _change(path, num_key_value_heads=2)
        _rewrite(path, _with_two_heads_of_keys)
    elif name == "sliding":
        _change(path, sliding_window=WINDOW, layer_types=["sliding_attention"] * 2)
    else:
        _change(path, quantization_config=INT8)
        _rewrite(path, _in_int8)
    return path.rename(folder / name)


def _change(path: Path, **fields: Any) -> None:
    file = path / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))


def _rewrite(path: Path, change: Any) -> None:
    from safetensors.torch import load_file, save_file

    [file] = path.glob("*.safetensors")
    weights = {
        new: tensor.contiguous()
        for name, old in load_file(file).items()
        for new, tensor in change(name, old).items()
    }
    save_file(weights, file, {"format": "pt"})


def _with_two_heads_of_keys(name: str, weight: Any) -> dict[str, Any]:
    return {name: weight[: len(weight) // 2] if ".k_proj." in name or ".v_proj." in name else weight}


def _in_int8(name: str, weight: Any) -> dict[str, Any]:
    if "_proj." not in name:
        return {name: weight}
    import torch

    scale = weight.abs().amax(dim=1, keepdim=True) / 127
    return {name: (weight / scale).round().to(torch.int8), f"{name}_scale": scale}
