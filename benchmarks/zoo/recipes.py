"""What each made-up model is: a config of transformers, a tokenizer, a chat template.

Depth and width are cut to what vLLM's attention on a CPU takes (heads of 32) and to 20 MB of files; the
number of tokens, the kinds of layers, the context and the special tokens are the real ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from benchmarks.zoo.tokenizers import ByteLevel, SentencePiece


@dataclass(frozen=True)
class Recipe:
    """A made-up model.

    Attributes:
        config: the class of transformers that configures it.
        fields: of the config, without those that the tokenizer tells.
        vocab_size: rows of the embedding; real models have some that no token uses.
        tokenizer: how text becomes tokens.
        eos: the texts of the tokens that end a reply, the tokenizer's own first.
        template: the file of its chat template; "" for none.
        sampling: what the publisher's generation_config.json advises.
    """

    config: str
    fields: dict[str, Any]
    vocab_size: int
    tokenizer: ByteLevel | SentencePiece
    eos: tuple[str, ...]
    template: str = ""
    pad: str = ""
    sampling: dict[str, Any] = field(default_factory=dict)


def _heads(count: int, kv: int, **more: Any) -> dict[str, Any]:
    return dict(num_attention_heads=count, num_key_value_heads=kv, head_dim=32, **more)


LLAMA3_SPECIALS = (
    "<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>", "<|reserved_special_token_1|>",
    "<|finetune_right_pad_id|>", "<|reserved_special_token_2|>", "<|start_header_id|>", "<|end_header_id|>",
    "<|eom_id|>", "<|eot_id|>", "<|python_tag|>", *(f"<|reserved_special_token_{i}|>" for i in range(3, 248)),
)  # fmt: skip
QWEN3_SPECIALS = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>",
    "<|box_start|>", "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>",
    "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>", "<tool_call>", "</tool_call>", "<|fim_prefix|>",
    "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", "<tool_response>",
    "</tool_response>", "<think>", "</think>",
)  # fmt: skip
GEMMA_FIRST = ("<pad>", "<eos>", "<bos>", "<unk>", "<mask>", *(f"<unused{i}>" for i in range(99)),
               "<start_of_turn>", "<end_of_turn>")  # fmt: skip
PHI3_SPECIALS = (
    "<|endoftext|>", "<|assistant|>", "<|placeholder1|>", "<|placeholder2|>", "<|placeholder3|>",
    "<|placeholder4|>", "<|system|>", "<|end|>", "<|placeholder5|>", "<|placeholder6|>", "<|user|>",
)  # fmt: skip
SP_FIRST = ("<unk>", "<s>", "</s>")

RECIPES: dict[str, Recipe] = {
    "llama3": Recipe(
        "LlamaConfig",
        dict(hidden_size=32, intermediate_size=96, num_hidden_layers=2, max_position_embeddings=8192,
             **_heads(4, 2)),
        128_256, ByteLevel(128_000, LLAMA3_SPECIALS, "<|begin_of_text|>", digits=3, whole_words=True),
        ("<|eot_id|>", "<|end_of_text|>"), "llama3.jinja", sampling=dict(temperature=0.6, top_p=0.9),
    ),
    "qwen3": Recipe(
        "Qwen3Config",
        dict(hidden_size=32, intermediate_size=96, num_hidden_layers=2, max_position_embeddings=40_960,
             **_heads(4, 2)),
        151_936, ByteLevel(151_643, QWEN3_SPECIALS), ("<|im_end|>", "<|endoftext|>"), "qwen3.jinja",
        pad="<|endoftext|>", sampling=dict(temperature=0.6, top_p=0.95, top_k=20),
    ),
    # 262,144 tokens leave 16 numbers each in 20 MB, and windows of 512 would never be full in a test.
    "gemma3": Recipe(
        "Gemma3TextConfig",
        dict(hidden_size=16, intermediate_size=64, num_hidden_layers=6, max_position_embeddings=32_768,
             sliding_window=64, query_pre_attn_scalar=32, **_heads(2, 1)),
        262_144, SentencePiece(262_144, GEMMA_FIRST, "<bos>", prefix=False), ("<end_of_turn>", "<eos>"),
        "gemma3.jinja", pad="<pad>", sampling=dict(top_k=64, top_p=0.95),
    ),
    "opt": Recipe(
        "OPTConfig",
        dict(hidden_size=64, word_embed_proj_dim=64, ffn_dim=128, num_hidden_layers=2, num_attention_heads=2,
             max_position_embeddings=2048),
        50_272, ByteLevel(50_261, ("<pad>", "</s>", "<unk>", "<mask>"), "</s>"), ("</s>",), pad="<pad>",
    ),
    "phi3": Recipe(
        "Phi3Config",
        dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2,
             num_key_value_heads=2, max_position_embeddings=4096, original_max_position_embeddings=4096,
             sliding_window=2047),
        32_064, SentencePiece(32_011, SP_FIRST, "<s>", specials=PHI3_SPECIALS), ("<|end|>", "<|endoftext|>"),
        "phi3.jinja", pad="<|endoftext|>",
    ),
    "mixtral": Recipe(
        "MixtralConfig",
        dict(hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_local_experts=8,
             num_experts_per_tok=2, max_position_embeddings=32_768, sliding_window=None, **_heads(2, 1)),
        32_000, SentencePiece(32_000, SP_FIRST, "<s>"), ("</s>",), "mixtral.jinja",
    ),
    "llama2": Recipe(
        "LlamaConfig",
        dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, max_position_embeddings=4096,
             **_heads(2, 2)),
        32_000, SentencePiece(32_000, SP_FIRST, "<s>"), ("</s>",), "llama2.jinja",
        sampling=dict(temperature=0.6, top_p=0.9),
    ),
    "pythia": Recipe(
        "GPTNeoXConfig",
        dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2,
             max_position_embeddings=2048),
        50_304, ByteLevel(50_254, ("<|endoftext|>", "<|padding|>")), ("<|endoftext|>",),
    ),
}  # fmt: skip
NAMES = tuple(RECIPES)
