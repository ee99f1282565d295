"""Numbers of tokens: those that servers tell of, which may be anything, and those that characters make."""

from __future__ import annotations

from typing import Any

MOST_TOKENS = 2**40  # of one reply; a sum of eight million of them still fits a column of 64 bits
CHARS_A_TOKEN = 4  # where the model's tokenizer is not at hand; English prose has about so many


def count_of(told: Any) -> int | None:
    """A number of tokens as a reply's JSON has it; None, for unknown, where it is no count."""
    is_count = isinstance(told, int) and not isinstance(told, bool) and 0 <= told <= MOST_TOKENS
    return told if is_count else None
