"""Quicksort in batches, which leaves alone what is behind the first k (Hoare's quickselect and quicksort)."""

from __future__ import annotations

import random

from relserve.policies.ranking.matches import Course


def quicksort(num_items: int, k: int) -> Course:
    """The first k items: about 2 n log2 k comparisons at most, in about 2 log2 n batches.

    All parts that are not yet in order are divided in one batch, each by a pivot of its own.

    Args:
        num_items: items are the numbers below; the pivots hang on nothing else.
        k: from 1 to `num_items`.
    """
    draw = random.Random(num_items)
    parts = [list(range(num_items))]
    while True:
        starts = _starts(parts)
        open_parts = [i for i, part in enumerate(parts) if len(part) > 1 and starts[i] < k]
        if not open_parts:
            return [item for part in parts for item in part][:k]
        pivots = {i: draw.choice(parts[i]) for i in open_parts}
        pairs = [(item, pivots[i]) for i in open_parts for item in parts[i] if item != pivots[i]]
        flips = [draw.random() < 0.5 for _ in pairs]
        won = yield [pair[::-1] if flip else pair for pair, flip in zip(pairs, flips, strict=True)]
        before = {pair[0] for pair, flip, is_first in zip(pairs, flips, won, strict=True) if flip != is_first}
        divided: list[list[int]] = []
        for i, part in enumerate(parts):
            divided += _divide(part, pivots[i], before) if i in pivots else [part]
        parts = divided


def _starts(parts: list[list[int]]) -> list[int]:
    """The place of the first item of each part."""
    starts = [0]
    for part in parts:
        starts.append(starts[-1] + len(part))
    return starts


def _divide(part: list[int], pivot: int, before: set[int]) -> list[list[int]]:
    first = [item for item in part if item in before]
    last = [item for item in part if item not in before and item != pivot]
    return [each for each in (first, [pivot], last) if each]
