"""An engine of which nothing is known: short queries do not wait for long ones there either."""

from __future__ import annotations

import pytest

from benchmarks.first_contact import ENGINES, GUESSES, latencies, trace
from relserve.vllm_plugin.settings import FIRST_GUESS


@pytest.mark.parametrize("guess", GUESSES)
@pytest.mark.parametrize("engine", ["135 M, a CPU core", "8 B, an A100"])
def test_a_small_query_overtakes_a_large_one_from_the_first_on(engine: str, guess: str) -> None:
    cost = ENGINES[engine]
    relqueries = trace(cost, seed=0)
    stock = latencies(cost, relqueries, None)
    ours = latencies(cost, relqueries, FIRST_GUESS.scaled(GUESSES[guess]))
    assert ours["small"] <= 0.3 * stock["small"]
    assert ours["big"] <= 1.1 * stock["big"]
