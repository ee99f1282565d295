"""Writing the embedded model as a GGUF file, which llama.cpp and the servers built on it load.

Run it as `python -m training.tiny.gguf_export tiny.gguf`; it needs the package `gguf`. llama.cpp reads what
the model reads, but for a space before a number that is no digit (" ⅓"), which it cuts off by itself.
"""

import argparse
import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from relserve.tiny import MODEL_DIR

if TYPE_CHECKING:
    import gguf

FORMATS = ("F32", "F16", "BF16")
PRE_TOKENIZER = "smollm"  # llama.cpp's name for: digits one by one, then as GPT-2

Array = np.ndarray[Any, np.dtype[Any]]


def export(path: Path, number_format: str = "F32", model: Path = MODEL_DIR) -> None:
    """Write the model of the folder `model` to `path`; norms stay in F32, as llama.cpp wants them."""
    import gguf

    config = json.loads((model / "config.json").read_text())
    writer = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[gguf.MODEL_ARCH.LLAMA])
    writer.add_name("relserve tiny")
    writer.add_license("Apache-2.0")
    writer.add_file_type(gguf.LlamaFileType[_FILE_TYPES[number_format]])
    _add_sizes(writer, config)
    _add_vocabulary(writer, model, config)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config["num_hidden_layers"])
    wanted = gguf.GGMLQuantizationType[number_format]
    for name, values in _weights(model / "model.safetensors"):
        kept = gguf.GGMLQuantizationType.F32 if values.ndim == 1 else wanted
        packed = gguf.quants.quantize(_turned(name, values, config), kept)
        writer.add_tensor(str(names.get_name(name, (".weight",))), packed, raw_dtype=kept)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


_FILE_TYPES = {"F32": "ALL_F32", "F16": "MOSTLY_F16", "BF16": "MOSTLY_BF16"}


def _add_sizes(writer: "gguf.GGUFWriter", config: dict[str, Any]) -> None:
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_parameters"]["rope_theta"])
    writer.add_rope_dimension_count(config["head_dim"])
    writer.add_vocab_size(config["vocab_size"])


def _add_vocabulary(writer: "gguf.GGUFWriter", model: Path, config: dict[str, Any]) -> None:
    """Tokens, merges, special tokens and the chat template, which writes the BOS by itself."""
    import gguf

    tokenizer = json.loads((model / "tokenizer.json").read_text())
    tokens = sorted(tokenizer["model"]["vocab"], key=tokenizer["model"]["vocab"].get)
    special = {token["content"] for token in tokenizer["added_tokens"]}
    kinds = [gguf.TokenType.CONTROL if token in special else gguf.TokenType.NORMAL for token in tokens]
    if len(tokens) != config["vocab_size"]:
        raise ValueError(f"{model}: {len(tokens)} tokens, but vocab_size is {config['vocab_size']}")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(PRE_TOKENIZER)
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    gguf.SpecialVocab(model, load_merges=True).add_to_gguf(writer, quiet=True)
    writer.add_add_bos_token(False)


def _weights(path: Path) -> list[tuple[str, Array]]:
    """The tensors of a safetensors file in bfloat16, as float32."""
    import gguf
    from gguf.utility import SafetensorsLocal

    bfloat16 = gguf.GGMLQuantizationType.BF16
    with SafetensorsLocal(path) as tensors:
        return [
            (name, gguf.quants.dequantize(each.mmap_bytes(), bfloat16).reshape(each.shape))
            for name, each in tensors.items()
        ]


def _turned(name: str, values: Array, config: dict[str, Any]) -> Array:
    """Queries and keys with the two halves of each head interleaved, as llama.cpp rotates them."""
    heads = {"q_proj": "num_attention_heads", "k_proj": "num_key_value_heads"}.get(name.split(".")[-2])
    if heads is None:
        return values
    split = values.reshape(config[heads], 2, -1, values.shape[1])
    turned: Array = split.swapaxes(1, 2).reshape(values.shape)
    return turned


def main() -> None:
    """Parse the command line and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="the file to write")
    parser.add_argument("--format", choices=FORMATS, default="F32", help="of numbers (default: F32)")
    args = parser.parse_args()
    if find_spec("gguf") is None:
        parser.error("the package gguf is missing: pip install gguf")
    export(args.path, args.format)


if __name__ == "__main__":
    main()
