"""Orders of choices, and what reads in several orders and of empty inputs make of probabilities."""

from __future__ import annotations

from collections import Counter

import pytest

from relserve.call.decisions import Labelling, Probability
from relserve.call.place_bias import averaged, divided, orders_of


@pytest.mark.parametrize("num", [2, 3, 5, 8])
def test_with_as_many_orders_each_choice_stands_once_in_each_place(num: int) -> None:
    orders = orders_of(num, num)
    assert orders[0] == tuple(range(num))
    places = Counter((choice, place) for order in orders for place, choice in enumerate(order))
    assert set(places.values()) == {1}
    assert len(places) == num * num


@pytest.mark.parametrize(("num", "num_reads"), [(3, 2), (5, 2), (5, 4), (9, 6), (255, 2)])
def test_an_even_number_of_orders_gives_each_choice_the_same_mean_place(num: int, num_reads: int) -> None:
    orders = orders_of(num, num_reads)
    assert orders[0] == tuple(range(num))
    assert len(set(orders)) == num_reads
    assert {sum(order.index(choice) for order in orders) for choice in range(num)} == {
        num_reads * (num - 1) / 2
    }


def test_one_order_is_the_given_one_and_an_odd_number_are_rotations() -> None:
    assert orders_of(4, 1) == [(0, 1, 2, 3)]
    assert orders_of(5, 3) == [(0, 1, 2, 3, 4), (1, 2, 3, 4, 0), (3, 4, 0, 1, 2)]


@pytest.mark.parametrize("true", [(0.7, 0.3), (0.5, 0.2, 0.3)])
def test_factors_of_the_places_go_out(true: tuple[float, ...]) -> None:
    factors = (0.9, 0.4, 0.1)
    reads = []
    for order in orders_of(len(true), len(true)):
        weights = {choice: true[choice] * factors[place] for place, choice in enumerate(order)}
        reads.append([weights[choice] / sum(weights.values()) for choice in range(len(true))])
    assert reads[0] != pytest.approx(true, abs=0.05)
    assert averaged(reads) == pytest.approx(true)


def test_a_read_of_zero_is_no_veto_and_two_that_differ_wholly_tell_nothing() -> None:
    assert averaged([(1.0, 0.0), (1.0, 0.0)])[0] == pytest.approx(1)
    assert averaged([(1.0, 0.0), (0.0, 1.0)]) == pytest.approx((0.5, 0.5))
    assert averaged([(0.0, 0.0), (0.0, 0.0)]) == pytest.approx((0.5, 0.5))


def test_a_prior_is_taken_out_of_all_choices_or_of_each_yes() -> None:
    assert divided((0.8, 0.2), (0.8, 0.2)) == pytest.approx((0.5, 0.5))
    one = Probability()
    prior = one.prior_of([(0.9, 0.1), (0.6, 0.4)])
    assert prior == pytest.approx((0.75, 0.25))
    assert one.value_of(one.without(prior, prior)) == pytest.approx(0.5)
    tags = Labelling(("a", "b"))
    prior = tags.prior_of([(0.9, 0.1, 0.2, 0.8), (0.9, 0.1, 0.2, 0.8)])
    assert prior == pytest.approx((0.9, 0.1, 0.2, 0.8))
    assert tags.without(prior, (0.9, 0.1, 0.5, 0.5)) == pytest.approx((0.5, 0.5, 0.8, 0.2))
    assert tags.value_of(tags.without(prior, (0.8, 0.2, 0.3, 0.7))) == '["b"]'
