"""Which llm filter to ask first, and for how many rows: pure decisions.

A filter's rank is its cost a row over the share of rows that it drops; asking in the order of rank costs
least while the filters are independent (Hellerstein and Stonebraker, SIGMOD 1993).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

SAMPLE = 64  # rows for which all filters are asked, to learn what each lets pass
LIMIT_SAMPLE = 16  # the same where a LIMIT may be met before long
SURE = 8  # rows that a filter must have been asked for before its share of passing rows is trusted
SHARE_TO_SAMPLE = 32  # of so many rows one is sampled at most
STEP = 8  # after the sample so many times its rows are asked, then all: the shares are better known by then
CHUNK = 2048  # rows that DuckDB hands over at once
SPARE = 1.25  # a block under a LIMIT is so much larger than the rows still needed call for
MAX_MEMORY = 1000  # rows after which older observations of a filter lose weight


@dataclass
class FilterCounts:
    """What a filter has said so far: rows asked, rows that passed."""

    asked: float = 0
    passed: float = 0

    @property
    def share(self) -> float:
        """Estimated share of rows that pass, between 0 and 1 exclusive (rule of succession)."""
        return (self.passed + 1) / (self.asked + 2)

    @property
    def is_sure(self) -> bool:
        return self.asked >= SURE

    def add(self, asked: int, passed: int) -> None:
        """Take in more rows."""
        if self.asked > MAX_MEMORY:
            self.asked, self.passed = self.asked / 2, self.passed / 2
        self.asked += asked
        self.passed += passed


def cheapest(costs: Mapping[int, float], shares: Mapping[int, float]) -> int:
    """The filter to ask first, by number; the first one written among equals.

    Args:
        costs: of each filter, for one row; 0 where every answer is known.
        shares: of rows that pass each.
    """
    return min(costs, key=lambda i: (costs[i] / (1 - shares[i]), i))


def next_block(done: int, passed: int, need: int) -> int:
    """How many rows to ask next so that `need` pass: what the rate so far calls for, but at most double.

    Fewer than `need` rows never do, and each block is at most as large as all before it; so less than twice
    the least possible number of rows is asked. A block ends with DuckDB's chunk: without prefetch that would
    be asked as a whole.
    """
    if done == 0:
        return need
    rate = (passed + 0.5) / (done + 1)
    return max(1, min(done, CHUNK - done % CHUNK, math.ceil(SPARE * (need - passed) / rate)))


def sample_size(num_rows: int, limited: bool) -> int:
    """How many of so many rows to ask all filters for; 0 where they are too few to be worth it."""
    if limited:
        return min(num_rows, LIMIT_SAMPLE)
    size = min(SAMPLE, num_rows // SHARE_TO_SAMPLE)
    return size if size >= SURE else 0


def spread(num_rows: int, size: int) -> range:
    """`size` row numbers, evenly spread."""
    return range(0, num_rows, max(1, num_rows // size))[:size] if size else range(0)
