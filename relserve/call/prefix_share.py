"""How much of a relQuery's prompts a prefix cache will serve: a guess before anything is asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

BLOCK = 16  # tokens that a prefix cache keeps or forgets together, vLLM's default

Row = TypeVar("Row", str, tuple[int, ...])


def prefix_share(rows: Iterable[Row], block: int = BLOCK) -> float:
    """The share of the prompts' tokens that a prefix cache serves, from 0 to 1; 0 without a token.

    As in vLLM whole blocks are served, a block only behind the same blocks before it, and never a prompt's
    last token. The cache is taken to be empty at first and to forget nothing.

    Args:
        rows: the distinct prompts, in the order in which they are sent: token ids, or text of which a
            character counts as a token.
        block: tokens of a block.
    """
    blocks: dict[tuple[int, Row], int] = {}  # by the number of the block before it (0: none) and its tokens
    num_tokens = num_shared = 0
    for row in rows:
        num_tokens += len(row)
        before = 0
        for start in range(0, len(row) - block + 1, block):
            key = before, row[start : start + block]
            if key not in blocks:
                blocks[key] = len(blocks) + 1
            elif start + block < len(row):
                num_shared += block
            before = blocks[key]
    return num_shared / num_tokens if num_tokens else 0.0
