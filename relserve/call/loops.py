"""Where a sequence begins to repeat itself to its end, as small models do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def loop_start(items: Sequence[Any], longest: int, least: int) -> int:
    """The place of the first item that only repeats what stood before; their number where nothing loops.

    Args:
        longest: items of one round, at most.
        least: items that repeat the round before, at the least.
    """
    for period in range(1, longest + 1):
        start = len(items)
        while start > period and items[start - 1] == items[start - 1 - period]:
            start -= 1
        if len(items) - start >= max(least, period):
            return start
    return len(items)
