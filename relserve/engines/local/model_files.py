"""What a model's files tell of it without being loaded: its size, what a token of it takes, its context."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2}  # of a number, as safetensors names its format
NUMBER_BYTES = {"float32": 4, "float": 4, "float16": 2, "half": 2, "bfloat16": 2}  # as configs name it
WEIGHTS = ("*.safetensors", "*.bin", "*.pt")  # the first of them that a folder has is loaded

# What configs call the same thing: of most models, of GPT-2 and its like, of MPT and DBRX.
HIDDEN = ("hidden_size", "n_embd", "d_model")
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
HEADS = ("num_attention_heads", "n_head", "n_heads")
KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num", "kv_n_heads")
CONTEXT = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
INNER = ("intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size")
EXPERTS = ("n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts")
EXPERT_INNER = ("moe_intermediate_size", *INNER)
NESTED = ("attn_config", "ffn_config")  # parts of MPT's and DBRX's configs
UNTOLD = (KeyError, TypeError, ValueError)  # of a config that has a size under no known name, or one a layer

Config = Mapping[str, Any]


class ModelSize(NamedTuple):
    """What a model takes.

    Attributes:
        parameters: about how many numbers it has.
        weight_bytes: of them as they will lie in memory.
        kv_bytes: that the KV cache keeps of one token; None where the config does not tell.
        context: the most tokens of a prompt with its answer.
    """

    parameters: float
    weight_bytes: float
    kv_bytes: int | None
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
    text = part if isinstance(part, dict) and any(name in part for name in HIDDEN) else config
    nested = [text[name] for name in NESTED if isinstance(text.get(name), dict)]
    return {key: value for each in (*nested, text) for key, value in each.items()}


def num_parameters(config: Config) -> float:
    """About how many parameters a decoder with this config has.

    Raises:
        KeyError, TypeError, ValueError: it names its sizes in ways of its own.
    """
    text = text_part(config)
    hidden, layers = _first(text, HIDDEN), _first(text, LAYERS)
    dense = 3 * hidden * _first(text, INNER, 4 * hidden)
    sparse, num_dense = dense, 0
    if experts := _first(text, EXPERTS, 0):
        width = _first(text, EXPERT_INNER, 4 * hidden)
        shared = text.get("shared_expert_intermediate_size") or (text.get("n_shared_experts") or 0) * width
        sparse, num_dense = 3 * hidden * (experts * width + shared), text.get("first_k_dense_replace") or 0
    inner = num_dense * dense + (layers - num_dense) * sparse
    return float(2 * text["vocab_size"] * hidden + layers * 4 * hidden**2 + inner)


def kv_bytes_per_token(config: Config, number_bytes: int) -> int:
    """About how many bytes the KV cache keeps of a token; windows and shared latents make it less.

    Raises:
        KeyError, TypeError, ValueError: as for `num_parameters`.
    """
    text = text_part(config)
    heads = _first(text, HEADS)
    width = text.get("head_dim") or _first(text, HIDDEN) // heads
    return int(2 * _first(text, LAYERS) * _first(text, KV_HEADS, heads) * width * number_bytes)


def _first(text: Config, names: tuple[str, ...], default: int | None = None) -> int:
    """The value under the first of these names that a config has; KeyError where there is no default."""
    found = next((int(text[name]) for name in names if text.get(name)), default)
    if found is None:
        raise KeyError(names[0])
    return found


def size_of_model(path: str, number_bytes: int | None, max_model_len: int | None) -> ModelSize | None:
    """What a model takes; None where its files do not tell.

    Args:
        path: a folder or a hub id.
        number_bytes: of a number as it will be computed; None: as it is stored.
        max_model_len: the context where the user set it.
    """
    try:
        config = read_config(path)
        stored = _stored(Path(path)) if os.path.isdir(path) else None
        kept = number_bytes or (stored and stored.number_bytes) or _number_bytes(config)
        parameters = _parameters(config, stored)
        loaded = stored.file_bytes if stored and number_bytes is None else None
        context = max_model_len or _first(text_part(config), CONTEXT, 2048)
        return ModelSize(parameters, loaded or parameters * kept, _kv_bytes(config, kept), int(context))
    except Exception:  # vLLM will say what is wrong with the model, and better
        return None


def _parameters(config: Config, stored: _Stored | None) -> float:
    """Counted in the files, else estimated from the config, else from the size of the files."""
    if stored is not None and stored.parameters:
        return stored.parameters
    try:
        return num_parameters(config)
    except UNTOLD:
        if stored is None:
            raise
        return stored.file_bytes / _number_bytes(config)


def _kv_bytes(config: Config, number_bytes: int) -> int | None:
    try:
        return kv_bytes_per_token(config, number_bytes)
    except UNTOLD:
        return None


def _number_bytes(config: Config) -> int:
    """Of a number as the config says that it is stored."""
    text = text_part(config)
    return NUMBER_BYTES.get(str(text.get("dtype") or text.get("torch_dtype")).removeprefix("torch."), 2)


class _Stored(NamedTuple):
    """Weights in a folder: numbers counted in them (0: not known), bytes of one (0), bytes of all files."""

    parameters: float
    number_bytes: int
    file_bytes: int


def _stored(folder: Path) -> _Stored | None:
    files = next((found for pattern in WEIGHTS if (found := sorted(folder.glob(pattern)))), [])
    if not files:
        return None
    file_bytes = sum(each.stat().st_size for each in files)
    counts = dict.fromkeys(BYTES, 0)
    for file in files:
        for kind, number in _tensors(file) if file.suffix == ".safetensors" else ():
            if kind not in BYTES:  # quantised: a stored number is several, or less than one
                return _Stored(0, 0, file_bytes)
            counts[kind] += number
    most = max(BYTES, key=lambda kind: counts[kind])
    return _Stored(sum(counts.values()), BYTES[most] if counts[most] else 0, file_bytes)


def _tensors(file: Path) -> Iterator[tuple[str, int]]:
    """Format and count of the numbers of each tensor: the header of a safetensors file."""
    with file.open("rb") as stream:
        header = json.loads(stream.read(int.from_bytes(stream.read(8), "little")))
    for name, tensor in header.items():
        if name != "__metadata__":
            yield tensor["dtype"], math.prod(tensor["shape"])
