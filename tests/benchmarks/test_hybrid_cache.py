"""What `hybrid_cache` makes of the runs of several seeds."""

from __future__ import annotations

import pytest

from benchmarks.hybrid_cache import HYBRID, KV, ROOMY, STOCK, HybridTrace, ratios, rows

SEEDS = [
    {STOCK: HybridTrace([4.0, 4.0], 5, 40, 1, 0), KV: HybridTrace([2.0, 4.0], 6, 40, 0, 0),
     HYBRID: HybridTrace([1.0, 2.0], 9, 40, 2, 0), ROOMY: HybridTrace([1.0, 1.0], 20, 90, 0, 0)},
    {STOCK: HybridTrace([8.0, 8.0], 5, 40, 2, 0), KV: HybridTrace([4.0, 4.0], 5, 40, 0, 0),
     HYBRID: HybridTrace([4.0, 4.0], 8, 40, 0, 0), ROOMY: HybridTrace([2.0, 2.0], 20, 90, 0, 0)},
]  # fmt: skip


def test_ratios_are_of_means_of_each_seed() -> None:
    assert ratios(SEEDS, KV, HYBRID) == [2.0, 1.0]


def test_the_table_is_over_all_seeds() -> None:
    by_way = {name: rest for name, *rest in rows(SEEDS)}
    assert by_way[STOCK] == [6.0, pytest.approx(8.0), 1.0, 5, 3]
    assert by_way[HYBRID] == [2.75, pytest.approx(4.0), pytest.approx((4 / 1.5 + 2) / 2), 9, 2]
