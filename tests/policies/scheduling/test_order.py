"""The order by urgency: what a full sort gives, however it is asked for."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from relserve.policies.scheduling.order import RelQueryOrder
from tests.policies.states import relation

few = st.sampled_from([0.0, 0.5, 1.0, 2.0])  # so that many are equal


@given(st.lists(st.tuples(few, few), max_size=300), st.integers(0, 300))
def test_it_is_a_full_sort_by_value_then_arrival_then_id(
    pairs: list[tuple[float, float]], asked: int
) -> None:
    rels = [relation(f"r{i}", 1, arrival) for i, (_, arrival) in enumerate(pairs)]
    values = {rel.rel_id: value for rel, (value, _) in zip(rels, pairs, strict=True)}
    order = RelQueryOrder.of(rels, list(values.values()))
    expected = sorted(rels, key=lambda rel: (values[rel.rel_id], rel.arrival_s, rel.rel_id))
    assert list(itertools.islice(order, asked)) == expected[:asked]
    assert list(order) == expected
    assert len(order) == len(rels)
    assert order.sort(reversed(rels)) == expected


def test_an_order_of_nothing_is_empty() -> None:
    assert list(RelQueryOrder()) == []
