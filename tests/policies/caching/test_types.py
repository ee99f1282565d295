"""When a request is hidden."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.policies.caching.state import BlockMemory
from relserve.policies.caching.types import MemoryPressure, Once, tokens_made, type_of
from relserve.policies.caching.variants import NAMES, make
from relserve.policies.model.cache_costs import CacheCosts
from relserve.policies.model.linear import CostModel
from tests.policies.caching.views import view, waiting

POOL = BlockMemory(1000, 16, 32)
STEPS = CostModel(1e-4, 3e-3, 3e-5, 2.2e-2)
FEW = st.integers(0, 500)
TOKENS = st.integers(1, 4000)


def costs(extra_s: float) -> CacheCosts:
    """A hidden token costs so many seconds more a step than one with keys and values."""
    return CacheCosts(STEPS, 6e-7, 6e-7 + extra_s)


@given(TOKENS, FEW, FEW)
def test_as_fast_always_pays(num_tokens: int, running: int, waiting: int):
    """Wherever it frees a block; the absorbed path."""
    expected = "hidden" if num_tokens > 16 else "kv"
    assert type_of(num_tokens, MemoryPressure(running, waiting), POOL, costs(0.0)) == expected
    assert type_of(num_tokens, MemoryPressure(running, waiting), POOL, costs(-1e-7)) == "hidden"


@given(TOKENS, FEW)
def test_slower_does_not_pay_where_nobody_waits(num_tokens: int, running: int):
    """There is nothing to let in."""
    assert type_of(num_tokens, MemoryPressure(running, 0), POOL, costs(1e-9)) == "kv"


def test_the_papers_way_does_not_pay():
    """19 us a token for keys and values computed anew (OPT-13B on an A100), however many wait."""
    assert type_of(400, MemoryPressure(30, 10_000), POOL, costs(1.9e-5)) == "kv"


def test_a_little_slower_pays_where_many_wait():
    """200 tokens free 6 of 1,000 blocks: 0.13 ms a step of a base of 22 ms."""
    assert type_of(200, MemoryPressure(30, 300), POOL, costs(5e-7)) == "hidden"
    assert type_of(200, MemoryPressure(300, 30), POOL, costs(5e-7)) == "kv"


@given(TOKENS, st.integers(0, 99), FEW, FEW, st.floats(0.0, 1e-5), st.floats(0.0, 1e-5))
def test_more_waiting_and_cheaper_only_favour_hidden(
    num_tokens: int, running: int, waiting: int, more: int, extra_s: float, less_s: float
):
    """Monotone in both."""
    if type_of(num_tokens, MemoryPressure(running, waiting), POOL, costs(extra_s)) == "hidden":
        cheaper = costs(max(extra_s - less_s, 0.0))
        assert type_of(num_tokens, MemoryPressure(running, waiting + more), POOL, cheaper) == "hidden"


@given(TOKENS, FEW, FEW)
def test_larger_hidden_states_never_pay(num_tokens: int, running: int, waiting: int):
    """Grouped-query heads: X is larger than keys and values."""
    grouped = BlockMemory(1000, 32, 16)
    assert type_of(num_tokens, MemoryPressure(running, waiting), grouped, costs(0.0)) == "kv"


@pytest.mark.parametrize("name", NAMES)
def test_who_may_hold_one_type_only_is_planned_as_that(name: str):
    """Though the other would gain more, or costs nothing; and it takes that type's blocks."""
    rows = [waiting(f"r{i}", 64)._replace(only=only) for i, only in enumerate(("kv", "hidden", None))]
    for rho in (0.0, 1e-1):
        plan = make(name).plan(view(rows, 100, rho=rho))
        assert plan.types["r0"] == "kv"
        assert plan.types["r1"] == "hidden"
    least = make(name).plan(view([rows[1]], 2, rho=1e-1))
    assert least.types == {"r1": "hidden"}, "it fits as hidden states alone"
    assert not make(name).plan(view([rows[0]], 3, rho=0.0)).run, "keys and values of 64 tokens take 4 blocks"


def test_a_prompt_in_parts_is_made_again_part_by_part():
    """Whole: what the prefix cache has of it. In three parts of 100: that three times, and 100 + 200."""
    prompts, begin = np.array([80, 300, 300]), np.array([0, 0, 40])
    assert tokens_made(prompts, begin, 400).tolist() == [0, 0, 40]
    assert tokens_made(prompts, begin, 100).tolist() == [0, 300, 420]


def test_what_a_prompt_costs_once_weighs_less_the_longer_it_runs():
    """2 % of the pool is freed, of 22 ms a step: 0.4 ms a step; 400 tokens made again cost 8 ms."""
    dear = costs(0.0)._replace(made_token_s=2e-5)
    for steps, expected in ((10.0, "kv"), (40.0, "hidden")):
        once = Once(np.array([400]), np.array([0]), np.array([steps]))
        assert type_of(640, MemoryPressure(0, 10), POOL, dear, once) == expected
    long = Once(np.array([400]), np.array([0]), np.array([1e6]))
    assert type_of(640, MemoryPressure(0, 0), POOL, dear, long) == "kv"


def test_what_any_hidden_request_costs_is_shared():
    """1 ms a step: too much for one alone with nobody waiting, little for one of forty where many wait."""
    dear = costs(0.0)._replace(hidden_base_s=1e-3)
    assert type_of(640, MemoryPressure(0, 0), POOL, dear) == "kv"
    assert type_of(640, MemoryPressure(0, 2), POOL, dear) == "kv"
    assert type_of(640, MemoryPressure(39, 40), POOL, dear) == "hidden"


def test_a_prefix_that_is_there_as_keys_and_values_counts_against_it():
    """400 tokens computed anew cost 40 ms; of 22 ms a step 0.4 ms are gained."""
    for steps, expected in ((50.0, "kv"), (200.0, "hidden")):
        once = Once(np.array([0]), np.array([400]), np.array([steps]))
        assert type_of(640, MemoryPressure(0, 10), POOL, costs(0.0), once) == expected
