"""The table of requests."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relserve.policies.caching.requests import HIDDEN, NOTHING, RequestColumns, RequestState
from tests.policies.caching.views import decoding, waiting

NAMES = st.sampled_from([f"r{i}" for i in range(12)])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(NAMES, st.booleans(), st.integers(2, 99))))
def test_it_is_a_dict_with_columns(changes: list[tuple[str, bool, int]]):
    """Whatever comes and goes, every request reads as it was put, and columns agree with it."""
    table, truth = RequestColumns(), dict[str, RequestState]()
    for name, stays, tokens in changes:
        if stays:
            truth[name] = waiting(name, tokens) if tokens % 2 else decoding(name, tokens, "hidden", 3.0)
            table.put(truth[name])
        elif name in truth:
            del truth[name]
            table.remove(name)
    assert {one.request_id: one for one in table} == truth
    assert len(table) == len(truth) == len(table.rank)
    assert [truth[name].num_tokens for name in table.ids] == table.num_tokens.tolist()


def test_it_grows():
    """Beyond its first size, all columns with it."""
    table = RequestColumns(waiting(f"r{i}", i + 1, float(i)) for i in range(1000))
    assert table["r999"] == waiting("r999", 1000, 999.0)
    assert table.order.tolist() == list(range(1000))


def test_answers_are_counted():
    """A token more, all before it computed, one less to come."""
    table = RequestColumns([waiting("a", 5)])
    table.hold("a", "hidden", 5)
    table.answered(["a"], 2.0)
    one = table["a"]
    assert (one.num_tokens, one.num_computed, one.last_token_s, one.expected_left) == (6, 5, 2.0, 9.0)
    assert table.holds.tolist() == [HIDDEN]
    table.hold("a", None, 0)
    assert (table["a"].cache, table.holds.tolist()) == (None, [NOTHING])


def test_who_was_put_again_keeps_its_turn():
    """Order counts arrivals, and a renewed request did not arrive again."""
    table = RequestColumns([waiting("a", 5), waiting("b", 5)])
    table.put(waiting("a", 6))
    assert table.order.tolist() == [0, 1]
    assert "a" in table
    assert "c" not in table


def test_an_unknown_request_cannot_go():
    """It raises."""
    with pytest.raises(KeyError, match="nobody"):
        RequestColumns().remove("nobody")
