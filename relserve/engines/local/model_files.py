"""What a model's files tell of it without being loaded: its size, what a token of it takes, its context."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}  # of a number, as safetensors names its format
WEIGHTS = ("*.safetensors", "*.bin", "*.pt")  # the first of them that a folder has is loaded

Config = Mapping[str, Any]


class ModelSize(NamedTuple):
    """What a model takes.

    Attributes:
        parameters: about how many numbers it has.
        weight_bytes: of them as they will lie in memory.
        kv_bytes: that the KV cache keeps of one token.
        context: the most tokens of a prompt with its answer.
    """

    parameters: float
    weight_bytes: float
    kv_bytes: int
    context: int


def read_config(path: str) -> dict[str, Any]:
    """A model's config.json.

    Args:
        path: a folder, or a hub id, of which that file is fetched if it is not here.

    Raises:
        OSError, ValueError: there is none, or none that can be read.
    """
    if not os.path.isdir(path):
        from transformers import AutoConfig

        return dict(AutoConfig.from_pretrained(path).to_dict())
    config = json.loads((Path(path) / "config.json").read_text(encoding="utf-8"))
    if not isinstance(config, dict):
        raise ValueError("config.json holds no object")
    return config


def text_part(config: Config) -> Config:
    """The part of a config that describes the decoder; models that also see or hear keep it apart."""
    part = config.get("text_config")
    return part if isinstance(part, dict) and "hidden_size" in part else config


def num_parameters(config: Config) -> float:
    """About how many parameters a decoder with this config has.

    Raises:
        KeyError: it names its sizes in ways of its own.
    """
    text = text_part(config)
    hidden = text["hidden_size"]
    inner = text.get("intermediate_size") or text.get("ffn_dim") or 4 * hidden
    experts = text.get("num_local_experts") or text.get("num_experts") or 1
    layer = 4 * hidden**2 + 3 * hidden * inner * experts
    return float(2 * text["vocab_size"] * hidden + text["num_hidden_layers"] * layer)


def kv_bytes_per_token(config: Config, number_bytes: int) -> int:
    """About how many bytes the KV cache keeps of a token; windows and shared latents make it less.

    Raises:
        KeyError: as for `num_parameters`.
    """
    text = text_part(config)
    heads = text["num_attention_heads"]
    width = text.get("head_dim") or text["hidden_size"] // heads
    kept = text.get("num_key_value_heads") or heads
    return int(2 * text["num_hidden_layers"] * kept * width * number_bytes)


def size_of_model(path: str, number_bytes: int | None, max_model_len: int | None) -> ModelSize | None:
    """What a model takes; None where its files do not tell.

    Args:
        path: a folder or a hub id.
        number_bytes: of a number as it will be computed; None: as it is stored.
        max_model_len: the context where the user set it.
    """
    try:
        config = read_config(path)
        about = num_parameters(config)
        stored = _stored(Path(path)) if os.path.isdir(path) else None
        parameters = stored.parameters if stored and stored.parameters else about
        kept = number_bytes or (stored and stored.number_bytes) or 2
        loaded = stored.file_bytes if stored and number_bytes is None else None
        context = max_model_len or text_part(config).get("max_position_embeddings") or 2048
        return ModelSize(
            parameters, loaded or parameters * kept, kv_bytes_per_token(config, kept), int(context)
        )
    except Exception:  # vLLM will say what is wrong with the model, and better
        return None


class _Stored(NamedTuple):
    """Weights in a folder: numbers that are stored plainly (0: none), bytes of one, bytes of all files."""

    parameters: float
    number_bytes: int
    file_bytes: int


def _stored(folder: Path) -> _Stored | None:
    files = next((found for pattern in WEIGHTS if (found := sorted(folder.glob(pattern)))), [])
    if not files:
        return None
    counts = dict.fromkeys(BYTES, 0)
    for file in files:
        for kind, number in _tensors(file) if file.suffix == ".safetensors" else ():
            if kind not in BYTES:  # quantised: a stored number is several, or less than one
                return _Stored(0, 0, sum(each.stat().st_size for each in files))
            counts[kind] += number
    most = max(BYTES, key=lambda kind: counts[kind])
    return _Stored(sum(counts.values()), BYTES[most], sum(each.stat().st_size for each in files))


def _tensors(file: Path) -> Iterator[tuple[str, int]]:
    """Format and count of the numbers of each tensor: the header of a safetensors file."""
    with file.open("rb") as stream:
        header = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
    for name, tensor in header.items():
        if name != "__metadata__":
            yield tensor["dtype"], math.prod(tensor["shape"])
