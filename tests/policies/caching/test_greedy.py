"""The greedy solution of the hybrid-cache scheduling problem against the best of all."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.policies.caching.greedy import ChosenCandidates, Offers, _Entries, _taken, choose

SECONDS = st.floats(0.0, 100.0)


@st.composite
def offers(draw: st.DrawFn, most: int = 6) -> Offers:
    """Offers of a few requests; rho from nothing to prohibitive, hidden from a third of the blocks to all."""
    tokens = np.array(draw(st.lists(st.integers(1, 150), min_size=1, max_size=most)))
    value = np.array(draw(st.lists(SECONDS, min_size=len(tokens), max_size=len(tokens))))
    rho = draw(st.sampled_from([0.0, 1e-3, 1e-2, 0.1, 1.0]))
    hidden = -(-tokens // draw(st.sampled_from([16, 32, 48])))
    return Offers(value, value - rho * tokens, -(-tokens // 16), hidden, np.arange(len(tokens)))


def worth(offered: Offers, chosen: ChosenCandidates) -> float:
    """The sum of Eq. 7's objective."""
    pairs = zip(chosen.which, chosen.hidden, strict=True)
    return float(sum((offered.hidden_value if is_hidden else offered.value)[i] for i, is_hidden in pairs))


def blocks(offered: Offers, chosen: ChosenCandidates) -> int:
    """The left side of Eq. 7's constraint."""
    pairs = zip(chosen.which, chosen.hidden, strict=True)
    return int(sum((offered.hidden if is_hidden else offered.kv)[i] for i, is_hidden in pairs))


def optimum(offered: Offers, capacity: int) -> float:
    """The best of all schedules: each request left out, with keys and values, or hidden."""
    best = 0.0
    for kinds in product((0, 1, 2), repeat=len(offered.kv)):
        which = np.flatnonzero(kinds)
        chosen = ChosenCandidates(which, np.array(kinds)[which] == 2)
        if blocks(offered, chosen) <= capacity:
            best = max(best, worth(offered, chosen))
    return best


@given(offers(), st.integers(0, 25))
def test_at_least_half_the_best(offered: Offers, capacity: int):
    """The 2-approximation of section 5, within the memory, and no request twice."""
    chosen = choose(offered, capacity)
    assert blocks(offered, chosen) <= capacity
    assert len(set(chosen.which.tolist())) == len(chosen.which)
    assert worth(offered, chosen) >= optimum(offered, capacity) / 2 - 1e-9


def test_one_request_alone_can_be_the_best():
    """The check that the authors' program lost: a small dense one must not keep the large one out."""
    never = np.array([-1.0, -1.0])
    offered = Offers(np.array([2.0, 10.0]), never, np.array([1, 10]), np.array([1, 5]), np.arange(2))
    chosen = choose(offered, 10)
    assert (chosen.which.tolist(), chosen.hidden.tolist()) == ([1], [False])


def test_a_tight_pool_hides_and_a_wide_one_upgrades():
    """Both types of one request, as memory grows; hidden first, then its other half."""
    value, hidden_value = np.array([10.0, 10.0]), np.array([9.0, 9.0])
    offered = Offers(value, hidden_value, np.array([4, 4]), np.array([2, 2]), np.arange(2))
    assert [choose(offered, c).hidden.tolist() for c in (1, 2, 4, 6, 8)] == [
        [], [True], [True, True], [False, True], [False, False],
    ]  # fmt: skip


def test_hidden_is_avoided_where_it_costs_too_much():
    """The refined marginal gain of section 5: value per block is better with keys and values."""
    value, hidden_value = np.array([10.0, 10.0]), np.array([4.0, 4.0])
    offered = Offers(value, hidden_value, np.array([4, 4]), np.array([2, 2]), np.arange(2))
    chosen = choose(offered, 7)
    assert (chosen.which.tolist(), chosen.hidden.tolist()) == ([0], [False])


def test_hidden_where_only_that_fits():
    """A request larger than the memory as keys and values."""
    offered = Offers(np.array([10.0]), np.array([4.0]), np.array([8]), np.array([4]), np.arange(1))
    assert choose(offered, 7).hidden.tolist() == [True]


@pytest.mark.parametrize("capacity", [-3, 0])
def test_no_memory_chooses_nobody(capacity: int):
    """A pool that is full, or over-full."""
    offered = Offers(np.array([1.0]), np.array([1.0]), np.array([2]), np.array([1]), np.arange(1))
    assert len(choose(offered, capacity).which) == 0
    assert len(choose(Offers(*(np.array([]) for _ in range(5))), capacity).which) == 0


@given(offers(), st.integers(0, 25))
def test_without_a_penalty_nobody_is_upgraded(offered: Offers, capacity: int):
    """Upgrades gain nothing where hidden costs nothing: all that gains is memory."""
    free = offered._replace(hidden_value=offered.value)
    chosen = choose(free, capacity)
    smaller = (free.hidden < free.kv)[chosen.which]
    assert chosen.hidden[smaller].all()


@given(offers(most=12), st.integers(1, 40))
def test_the_order_of_candidates_does_not_matter(offered: Offers, capacity: int):
    """Ties are decided by `tie` alone."""
    shuffled = np.random.default_rng(0).permutation(len(offered.kv))
    moved = choose(Offers(*(column[shuffled] for column in offered)), capacity)
    chosen = choose(offered, capacity)
    assert shuffled[moved.which].tolist() == chosen.which.tolist()
    assert moved.hidden.tolist() == chosen.hidden.tolist()


def test_what_no_longer_fits_is_passed_over_for_what_does() -> None:
    blocks = np.array([6, 5, 3, 4, 1])
    upgrades = np.array([False, False, False, False, True])
    entries = _Entries(np.array([0, 1, 2, 3, 1]), blocks, upgrades)
    assert _taken(entries, 10, 4).tolist() == [True, False, True, False, False], (
        "4 is too much, 1 has no base"
    )
    assert _taken(entries, 11, 4).tolist() == [True, True, False, False, False]
    assert _taken(entries, 12, 4).tolist() == [True, True, False, False, True]
