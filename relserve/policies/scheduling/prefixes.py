"""What rows have in common with one another, before any of them is cached."""

from __future__ import annotations

from collections.abc import Hashable, Sequence


def num_known(hashes: Sequence[Hashable], num_cached: int, seen: set[Hashable]) -> int:
    """Blocks of a row's prefix that are cached, or will be once the rows before it are computed.

    Args:
        hashes: chained, of the row's full blocks.
        num_cached: of them, the first so many are cached.
        seen: blocks of the rows before it; those of this one are added.
    """
    number = num_cached
    while number < len(hashes) and hashes[number] in seen:
        number += 1
    seen.update(hashes[number:])
    return number
