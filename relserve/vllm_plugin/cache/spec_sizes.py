"""How much of X fits where keys and values were."""

from __future__ import annotations


def hidden_tokens_per_block(block_size: int, kv_width: int, x_width: int) -> int:
    """How many tokens of X fit a block of keys and values; whole multiples of `block_size`.

    vLLM keys its prefix cache by multiples of `block_size`.

    Args:
        block_size: tokens of keys and values in a block.
        kv_width: numbers in a token's keys and values together.
        x_width: numbers in a token's X.
    """
    return kv_width // x_width * block_size
