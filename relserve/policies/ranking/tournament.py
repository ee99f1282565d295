"""The first few of many items: a knock-out, a final in which all meet, and another chance for some losers.

Of n items n - m lose in the knock-out, in rounds of n/2, n/4, .. comparisons. The m finalists all meet. Who
lost to one of the first k - 1 may still be among the first k, and challenges those around place k. If
comparisons contradict each other nowhere, the order is exact: whoever belongs to the first k lost to nobody
else. With m = sqrt(n / 2) the final takes n/4 comparisons. An item with few mistakes against it comes far,
for it meets stronger and stronger ones, and at the end many of them, where one mistake decides nothing.
"""

from __future__ import annotations

import random
from collections import defaultdict

from relserve.policies.ranking.matches import Course, Matches, Pair, all_pairs

JUDGES = 3  # from place k on; who comes before most of them has beaten the first of them, or does no harm


def num_finalists(num_items: int, k: int) -> int:
    """How many items all meet."""
    return max(2 * k, int((num_items / 2) ** 0.5), 1)


def tournament(num_items: int, k: int) -> Course:
    """The first k items.

    Args:
        num_items: items are the numbers below; which of them meet hangs on nothing else.
        k: from 1 to `num_items`.
    """
    items, matches, losers = list(range(num_items)), Matches(), defaultdict[int, list[int]](list)
    random.Random(num_items).shuffle(items)
    while (num_out := len(items) - num_finalists(num_items, k)) > 0:
        pairs = list(zip(items[::2], items[1::2], strict=False))[:num_out]
        won = yield pairs
        matches.add(pairs, won)
        items = items[2 * len(pairs) :]
        for (first, second), is_first in zip(pairs, won, strict=True):
            winner, loser = (first, second) if is_first else (second, first)
            items.append(winner)
            losers[winner].append(loser)
    order = yield from all_pairs(items, matches)
    heard: set[int] = set()
    while True:
        best = [item for item in order[: k - 1] if item not in heard]
        heard.update(best)
        challengers = [loser for item in best for loser in losers[item]]
        if not challengers:
            return order[:k]
        judges = order[k - 1 : k - 1 + JUDGES]
        pairs = _challenges(challengers, judges)
        matches.add(pairs, (yield pairs))
        risen = [
            item for item in challengers
            if 2 * sum(matches.is_before(item, judge) for judge in judges) > len(judges)
        ]  # fmt: skip
        order = yield from all_pairs([*order[: k - 1 + JUDGES], *risen], matches)


def _challenges(challengers: list[int], judges: list[int]) -> list[Pair]:
    """Each challenger with each judge; either stands first in about half of them."""
    return [
        (item, judge) if (i + j) % 2 else (judge, item)
        for i, item in enumerate(challengers)
        for j, judge in enumerate(judges)
    ]
