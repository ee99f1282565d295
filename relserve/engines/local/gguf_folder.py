"""A GGUF file as a folder that vLLM and transformers load: weights in bfloat16, config, tokenizer, template.

Of Llama's architecture with SmolLM's tokenizer alone. It is read by the package `gguf`, without torch. The
model of another package is converted when it is first asked: once, whoever else asks, as a whole.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from relserve.errors import EngineStartError
from relserve.machine import packaged

KINDS = ("general.architecture", "tokenizer.ggml.model", "tokenizer.ggml.pre")
KNOWN = ("llama", "gpt2", "smollm")
CONTROL = 3  # the type of a special token
END_OF_TEXT = "<|endoftext|>"  # ends an answer beside the token that ends a turn
NAMES = {"token_embd": "embed_tokens", "output_norm": "norm"}
PARTS = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip

Metadata = Mapping[str, Any]
MB = 300  # that it takes on disk, and a little more


def write_folder(source: Path, folder: Path) -> None:
    """Write the model of a GGUF file into an empty folder, and see that the disk has it.

    Raises:
        ValueError: it is of another kind.
        OSError: a file cannot be read or written.
    """
    from gguf import GGUFReader

    reader = GGUFReader(source)
    told = {name: field.contents() for name, field in reader.fields.items()}
    if (kinds := tuple(told.get(name) for name in KINDS)) != KNOWN:
        raise ValueError(f"{source} is a model of {kinds}, not of {KNOWN}")
    _write_weights(reader.tensors, told, folder / "model.safetensors")
    for name, content in (
        ("config.json", _config(told)),
        ("generation_config.json", _generation(told)),
        ("tokenizer.json", _tokenizer(told)),
        ("tokenizer_config.json", _tokenizer_config(told)),
    ):
        with _on_disk(folder / name) as file:
            file.write(json.dumps(content).encode())


@contextmanager
def _on_disk(path: Path) -> Iterator[IO[bytes]]:
    """A new file, which at the end is on disk and not in memory alone."""
    with path.open("xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def _write_weights(tensors: Any, told: Metadata, path: Path) -> None:
    """A safetensors file: the length of a header, the header, the numbers of each tensor, one in memory."""
    from gguf import GGMLQuantizationType, dequantize, quantize

    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for tensor in tensors:
        shape = [int(size) for size in reversed(tensor.shape)]
        start, end = end, end + 2 * math.prod(shape)
        header[_name(tensor.name)] = {"dtype": "BF16", "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with _on_disk(path) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for tensor in tensors:
            values = _in_halves(tensor.name, dequantize(tensor.data, tensor.tensor_type), told)
            file.write(quantize(values, GGMLQuantizationType.BF16).tobytes())


def _name(name: str) -> str:
    """What transformers calls a tensor; raises ValueError for one that these models do not have."""
    *block, part, kind = name.split(".")
    known = PARTS if block else NAMES
    if part not in known or kind != "weight":
        raise ValueError(f"the GGUF file has a tensor {name!r}, which is not known here")
    return f"model.layers.{block[1]}.{PARTS[part]}.weight" if block else f"model.{NAMES[part]}.weight"


def _in_halves(name: str, values: Any, told: Metadata) -> Any:
    """Queries and keys as transformers turns them, in two halves of a head; llama.cpp turns them in pairs."""
    heads = {"attn_q": "llama.attention.head_count", "attn_k": "llama.attention.head_count_kv"}
    if (count := heads.get(name.split(".")[-2])) is None:
        return values
    return values.reshape(told[count], -1, 2, values.shape[1]).swapaxes(1, 2).reshape(values.shape)


def _config(told: Metadata) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16",
        "hidden_size": told["llama.embedding_length"],
        "intermediate_size": told["llama.feed_forward_length"],
        "num_hidden_layers": told["llama.block_count"],
        "num_attention_heads": told["llama.attention.head_count"],
        "num_key_value_heads": told["llama.attention.head_count_kv"],
        "head_dim": told["llama.rope.dimension_count"],
        "max_position_embeddings": told["llama.context_length"],
        "rope_theta": told["llama.rope.freq_base"],
        "rms_norm_eps": told["llama.attention.layer_norm_rms_epsilon"],
        "vocab_size": len(told["tokenizer.ggml.tokens"]), "tie_word_embeddings": True, "hidden_act": "silu",
        **_special_ids(told),
        "transformers_version": "4.47.1",  # without it transformers warns of the tokenizer
    }  # fmt: skip


def _special_ids(told: Metadata) -> dict[str, int]:
    names = {"bos": "bos", "eos": "eos", "pad": "padding"}
    return {f"{name}_token_id": told[f"tokenizer.ggml.{key}_token_id"] for name, key in names.items()}


def _generation(told: Metadata) -> dict[str, Any]:
    ids = _special_ids(told)
    ends = [at for at, token in enumerate(told["tokenizer.ggml.tokens"]) if token == END_OF_TEXT]
    return {**ids, "eos_token_id": [ids["eos_token_id"], *ends]}


def _tokenizer(told: Metadata) -> dict[str, Any]:
    """As llama.cpp's `smollm`: digits one by one, the rest as GPT-2."""
    tokens = told["tokenizer.ggml.tokens"]
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    special = [
        {"id": at, "content": token, **plain}
        for at, (token, kind) in enumerate(zip(tokens, told["tokenizer.ggml.token_type"], strict=True))
        if kind == CONTROL
    ]
    in_bytes = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    pieces = [{"type": "Digits", "individual_digits": True}, in_bytes]
    vocabulary = {token: at for at, token in enumerate(tokens)}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": pieces},
        "post_processor": None, "decoder": in_bytes,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": told["tokenizer.ggml.merges"]},
    }  # fmt: skip


def _tokenizer_config(told: Metadata) -> dict[str, Any]:
    tokens = told["tokenizer.ggml.tokens"]
    named = {name.removesuffix("_id"): tokens[at] for name, at in _special_ids(told).items()}
    return {
        "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": told["llama.context_length"],
        **named, "clean_up_tokenization_spaces": False, "chat_template": told["tokenizer.chat_template"],
    }  # fmt: skip


def is_unconverted(path: str) -> bool:
    """Whether a model's path is the folder of the packaged one, and nothing is there yet."""
    return path == str(packaged.folder()) and not packaged.is_converted()


def convert(path: str) -> None:
    """Make that folder if it is not there, which takes seconds; any other path passes.

    Raises:
        ModelError: the package was removed.
        EngineStartError: its file cannot be read, or the folder cannot be written.
    """
    if not is_unconverted(path):
        return
    import fcntl  # not on Windows, where no vLLM runs

    folder = Path(path)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with open(folder.with_name(f"{folder.name}.lock"), "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # freed when a process ends, in whatever way
            packaged.check_installed()
            if (source := packaged.find_source()) and not packaged.is_converted():
                _write(source, folder)
    except OSError as error:
        raise EngineStartError(
            f"{packaged.NAME} cannot be converted into {folder}: {error.strerror or error}; it takes {MB} MB "
            "there: free them, or set RELSERVE_CACHE_DIR to another folder"
        ) from error


def _write(source: Path, folder: Path) -> None:
    """Write it beside its place and move it there; what a killed process left goes first."""
    for left in (folder, *folder.parent.glob(f"{folder.name}.*.tmp")):
        shutil.rmtree(left, ignore_errors=True)
    unfinished = Path(tempfile.mkdtemp(".tmp", f"{folder.name}.", folder.parent))
    try:
        write_folder(source, unfinished)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
