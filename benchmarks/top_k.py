"""The first ten of 2,000 items by comparisons: how many calls each method takes, and how it bears mistakes.

`tournament` is what llm_rank does here. `LOTUS` is the quickselect of its sem_topk: a pivot at random, each
item compared with it, then the part that holds place k. `ListK` is the multi-pivot quickselect over lists of
20 items with 16 pivots, and a listwise sort of what is left (arXiv 2603.17223, and the authors' simulator);
it needs a model that orders 20 texts in one answer, so its calls are longer: `texts` counts what all calls
read, by n. `ListK, pairs` is the same with lists of two items, where a call is the same as for the others.

Comparers: `consistent` makes no mistake. `flip p` answers wrongly with probability p, whatever the pair; in
a list, each comparison of a sorting. `close s` adds normal errors of s standard deviations of the items'
worth, so that mistakes are among items that are close. Errors are drawn anew for each call.
`precision` is the share of the true first ten that are found. `first` is the share of runs in which all ten
are in their order.

`calls_over_n` is the most calls of any run with a consistent comparer, by n. `exact` is the share of those
runs with the right order. `precision_over_lotus` is the mean over all noisy comparers of ours less LOTUS's.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cmp_to_key
from statistics import fmean
from typing import Any, NamedTuple

from benchmarks.claims import Exact, Higher, Lower
from benchmarks.common import arguments, finish, table
from relserve.policies.ranking.variants import ranking

ROOMS = ("relserve/policies/ranking",)
HEADLINE = {
    "calls_over_n": Lower(by=0.05), "exact": Exact(1.0), "precision_over_lotus": Higher(by=0.05)
}  # fmt: skip

NUM_ITEMS, K = 2000, 10
REPETITIONS = 100
WINDOW, PIVOTS = 20, 16  # ListK's, of its own measurements
NOISES = ("consistent", "flip 0.02", "flip 0.05", "flip 0.10", "close 0.1", "close 0.3", "close 1.0")


class Judge:
    """Orders items, with mistakes, and counts its calls, the texts that they read, and their batches."""

    def __init__(self, noise: str, seed: int) -> None:
        draw = random.Random(seed)
        self.worth = [draw.gauss(0, 1) for _ in range(NUM_ITEMS)]
        self.calls = self.texts = self.batches = 0
        kind, _, size = noise.partition(" ")
        self._flip = float(size) if kind == "flip" else 0.0
        self._spread = float(size) if kind == "close" else 0.0
        self._draw = draw

    @property
    def truth(self) -> list[int]:
        """The first K."""
        return sorted(range(NUM_ITEMS), key=lambda item: -self.worth[item])[:K]

    def compare(self, pairs: Sequence[tuple[int, int]]) -> list[bool]:
        """Whether the first of each pair comes before the second: a batch of calls."""
        self._count([2] * len(pairs))
        return [self._is_before(a, b) for a, b in pairs]

    def sort(self, lists: Sequence[Sequence[int]]) -> list[list[int]]:
        """Each list in order: a batch of calls."""
        self._count([len(each) for each in lists])
        return [self._sorted(each) for each in lists]

    def _sorted(self, items: Sequence[int]) -> list[int]:
        if self._flip:
            return sorted(items, key=cmp_to_key(lambda a, b: -1 if self._is_before(a, b) else 1))
        return sorted(items, key=lambda item: -self.worth[item] - self._error())

    def _is_before(self, a: int, b: int) -> bool:
        ahead = self.worth[a] - self.worth[b] + self._error() - self._error() > 0
        return ahead != (self._draw.random() < self._flip)

    def _error(self) -> float:
        return self._draw.gauss(0, self._spread) / 2**0.5 if self._spread else 0.0

    def _count(self, sizes: Sequence[int]) -> None:
        self.calls += len(sizes)
        self.texts += sum(sizes)
        self.batches += bool(sizes)


def ours(judge: Judge, draw: random.Random) -> list[int]:
    """What llm_rank does."""
    course = ranking(NUM_ITEMS, K)
    try:
        pairs = next(course)
        while True:
            pairs = course.send(judge.compare(pairs))
    except StopIteration as end:
        return list(end.value)


def lotus(judge: Judge, draw: random.Random) -> list[int]:
    """The `quick` method of LOTUS's sem_topk (lotus/sem_ops/sem_topk.py, llm_quicksort)."""

    def first(items: list[int], k: int) -> list[int]:
        if len(items) <= 1 or k <= 0:
            return items
        pivot = draw.choice(items)
        others = [item for item in items if item != pivot]
        won = judge.compare([(item, pivot) for item in others])
        up = [item for item, is_first in zip(others, won, strict=True) if is_first]
        down = [item for item, is_first in zip(others, won, strict=True) if not is_first]
        if len(up) + 1 >= k:
            return [*first(up, k), pivot, *down]
        return [*first(up, len(up)), pivot, *first(down, k - len(up) - 1)]

    return first(list(range(NUM_ITEMS)), K)[:K]


def listk(judge: Judge, draw: random.Random, window: int = WINDOW, num_pivots: int = PIVOTS) -> list[int]:
    """ListK's LMPQSelect, and LMPQSort of what it selects."""

    def buckets_of(items: list[int]) -> list[list[int]]:
        drawn = draw.sample(items, num_pivots)
        (pivots,) = judge.sort([drawn]) if num_pivots > 1 else [drawn]
        rest = [item for item in items if item not in set(pivots)]
        step = window - num_pivots
        parts = [rest[at : at + step] for at in range(0, len(rest), step)]
        buckets: list[list[int]] = [[] for _ in range(num_pivots + 1)]
        for ordered in judge.sort([[*pivots, *part] for part in parts]):
            bucket = 0
            for item in ordered:
                if item in pivots:
                    bucket += 1
                else:
                    buckets[bucket].append(item)
        for number, pivot in enumerate(pivots):
            buckets[number].append(pivot)
        return buckets

    def select(items: list[int], k: int) -> list[int]:
        if k >= len(items):
            return items
        if len(items) <= window:
            return judge.sort([items])[0][:k]
        chosen: list[int] = []
        for bucket in buckets_of(items):
            if len(chosen) == k:
                break
            chosen += select(bucket, k - len(chosen))
        return chosen

    def sort(items: list[int]) -> list[int]:
        if len(items) <= window:
            return judge.sort([items])[0] if len(items) > 1 else items
        return [item for bucket in buckets_of(items) for item in sort(bucket)]

    return sort(select(list(range(NUM_ITEMS)), K))


def listk_pairs(judge: Judge, draw: random.Random) -> list[int]:
    """ListK where a call compares two items."""
    return listk(judge, draw, window=2, num_pivots=1)


METHODS: dict[str, Callable[[Judge, random.Random], list[int]]] = {
    "tournament": ours, "LOTUS": lotus, "ListK": listk, "ListK, pairs": listk_pairs,
}  # fmt: skip


class RankingRun(NamedTuple):
    """One run of a method; calls and texts by n."""

    calls: float
    texts: float
    batches: int
    precision: float
    is_exact: bool


def run(method: str, noise: str, seed: int) -> RankingRun:
    """One run."""
    judge = Judge(noise, seed)
    truth = judge.truth
    found = METHODS[method](judge, random.Random(seed + 1))
    precision = len(set(found) & set(truth)) / K
    return RankingRun(
        judge.calls / NUM_ITEMS, judge.texts / NUM_ITEMS, judge.batches, precision, found == truth
    )


def line(noise: str, method: str, runs: Sequence[RankingRun]) -> list[Any]:
    """A line of the table."""
    calls = [each.calls for each in runs]
    means = (fmean(getattr(each, name) for each in runs) for name in ("texts", "batches", "precision"))
    texts, batches, precision = means
    return [
        noise, method, round(fmean(calls), 2), round(max(calls), 2), round(texts, 1), round(batches),
        round(precision, 3), round(fmean(each.is_exact for each in runs), 2),
    ]  # fmt: skip


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    seeds = range(5 if args.quick else REPETITIONS)
    found = {
        (noise, method): [run(method, noise, seed) for seed in seeds]
        for noise in NOISES
        for method in METHODS
    }
    columns = ["comparer", "method", "calls / n", "most", "texts / n", "batches", "precision", "first"]
    rows = [line(noise, method, runs) for (noise, method), runs in found.items()]
    print(table(columns, rows))
    steady = found["consistent", "tournament"]
    gains = [
        fmean(each.precision for each in found[noise, "tournament"])
        - fmean(each.precision for each in found[noise, "LOTUS"])
        for noise in NOISES[1:]
    ]
    headline = {
        "calls_over_n": max(each.calls for each in steady), "exact": fmean(each.is_exact for each in steady),
        "precision_over_lotus": round(fmean(gains), 3),
    }  # fmt: skip
    finish("top_k", headline, [dict(zip(columns, row, strict=True)) for row in rows], args.quick)


if __name__ == "__main__":
    main()
