"""A decision of 5 rows while one of 20,000 rows runs on the same engine, from another connection.

On an engine with vLLM's own order, on one with relserve's scheduler first come, first served, and on one with
its own order.
"""

from __future__ import annotations

from typing import Any

from benchmarks.common import table
from benchmarks.decisions.rows import FIVE, YES_OR_NO, PartFindings
from benchmarks.second_connection import OURS, TwoConnections, medians
from relserve.policies.scheduling.variants import DEFAULT

STOCK, FCFS = "vLLM's own", "fcfs"
VARIANTS = {STOCK: "stock", FCFS: "fcfs", OURS: DEFAULT}
NUM_REVIEWS, CHARS, NUM_SMALL = 10_000, 160, 5


def measure(quick: bool) -> PartFindings:
    """Both queries on each engine."""
    num_rows, num_turns, head_start_s = (3_000, 1, 0.5) if quick else (20_000, 2, 2.0)
    runs: list[list[Any]] = []
    for name, variant in VARIANTS.items():
        side = TwoConnections(variant)
        side.small.execute(_small()).fetchall()  # what is learnt of a tokenizer, once
        for turn in range(num_turns):
            small_s, big_s, _ = side.run(_big(num_rows), _small(), head_start_s)
            runs.append([name, turn, small_s, big_s])
        side.close()
    print(table(["scheduler", "turn", f"{NUM_SMALL} rows, s", f"{num_rows} rows, s"], runs), "\n")
    small, big = (medians(runs, column, VARIANTS) for column in (2, 3))
    headline = {
        "times_sooner": round(min(small[STOCK], small[FCFS]) / small[OURS], 1),
        "small_s": {name: round(seconds, 3) for name, seconds in small.items()},
        "big_slower_by": round(big[OURS] / min(big[STOCK], big[FCFS]) - 1, 3),
    }
    return PartFindings(headline, runs)


def _big(num_rows: int) -> str:
    """A yes or no about so many rows, no two of which are equal."""
    text = f"concat('Glass ', i, ': ', left(review, {CHARS}))"
    rows = f"range({num_rows}) glasses(i) JOIN beer ON beer.id = i % {NUM_REVIEWS} + 1"
    return f"SELECT i, {YES_OR_NO.weighed()} FROM (SELECT i, {text} AS text FROM {rows})"


def _small() -> str:
    """Another question about the last reviews."""
    rows = f"SELECT id, left(review, {CHARS}) AS text FROM beer WHERE id > {NUM_REVIEWS - NUM_SMALL}"
    return f"SELECT id, {FIVE.weighed()} FROM ({rows})"
