"""Fair shares between users, which splitting one's work does not change."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relserve.policies.admission.fair import HELD_S, Presence, Shares
from relserve.policies.admission.request import AdmissionRequest
from relserve.policies.admission.scalability import Fit
from tests.policies.admission.views import CURVE


def serve(queues: dict[str, list[float]], weights: dict[str, float], budget: float) -> dict[str, float]:
    """Serve one after another until so many tokens are given; what each user got."""
    shares, got, left = Shares(weights), dict.fromkeys(queues, 0.0), {u: list(q) for u, q in queues.items()}
    while budget > 0 and any(left.values()):
        waiting = [
            AdmissionRequest(f"{user}{i}", "c", user, 0, 1, tokens)
            for user, queue in left.items()
            for i, tokens in enumerate(queue)
        ]
        first = shares.by_user(waiting)[0][0]
        shares.took(first.user, first.tokens)
        got[first.user] += first.tokens
        left[first.user].pop(0)
        budget -= first.tokens
    return got


@settings(max_examples=40)
@given(st.lists(st.floats(0.05, 1.0), min_size=1, max_size=30), st.sampled_from([0.5, 1.0, 3.0]))
def test_splitting_ones_work_gains_no_more_than_one_request(cuts: list[float], weight: float) -> None:
    """One user asks 20 requests of 100; the other the same work whole, or in as many pieces as it likes."""
    pieces = [100 * cut / sum(cuts) for _ in range(20) for cut in cuts]
    steady, weights = [100.0] * 20, {"splits": weight}
    whole = serve({"steady": steady, "splits": [100.0] * 20}, weights, 2000)
    split = serve({"steady": steady, "splits": pieces}, weights, 2000)
    assert split["splits"] <= whole["splits"] + 100 * (1 + weight) + 1e-6
    assert split["steady"] >= whole["steady"] - 100 * (1 + 1 / weight) - 1e-6


@settings(max_examples=50)
@given(st.lists(st.floats(1, 100), min_size=40, max_size=60), st.floats(0.2, 5))
def test_shares_are_as_the_weights_within_one_request(lengths: list[float], weight: float) -> None:
    got = serve({"a": lengths, "b": lengths}, {"a": weight}, 0.3 * sum(lengths))
    assert abs(got["a"] / weight - got["b"]) <= 100 * max(1, 1 / weight) + 1e-6


def test_five_hundred_relqueries_do_not_halve_anothers_share() -> None:
    """The issue's line: one user with 500 relQueries against one with a single stream."""
    alone = serve({"one": [50.0] * 100, "many": [50.0] * 100}, {}, 4000)
    beside = serve({"one": [50.0] * 100, "many": [50.0] * 500}, {}, 4000)
    assert beside["one"] == alone["one"] == 2000


def test_who_was_away_has_saved_up_nothing() -> None:
    shares = Shares()
    for _ in range(100):
        shares.took("busy", 100)
        shares.ended("busy", 100, 100)
        shares.by_user([AdmissionRequest("b", "c", "busy", 0, 1, 100)])
    both = [AdmissionRequest("b", "c", "busy", 0, 1, 100), AdmissionRequest("n", "c", "new", 0, 1, 100)]
    assert shares.got("new") >= shares.got("busy") - 100
    assert shares.by_user(both)[0][0].user == "new" or shares.got("new") == shares.got("busy")


def test_what_was_said_counts_and_not_what_was_expected() -> None:
    shares = Shares()
    shares.took("a", 1000)
    shares.took("b", 100)
    shares.ended("a", 1000, 10)
    assert shares.got("a") == 10 < shares.got("b")


def test_a_user_whose_answers_are_shorter_than_expected_loses_nothing_by_it() -> None:
    """Twenty of a's run, each expected to say 16, and say 4, when b comes: a's next go first."""
    shares, both = Shares(), [AdmissionRequest(user, "c", user, 0, 1, 16) for user in "ab"]
    for _ in range(20):
        shares.took("a", 16)
    assert shares.by_user(both)[0][0].user == "b"
    for _ in range(20):
        shares.ended("a", 16, 4)
        shares.took("b", 16)
        shares.by_user(both)
    assert shares.got("a") == 80
    assert shares.got("b") == 320
    assert shares.by_user(both)[0][0].user == "a"


@pytest.mark.parametrize("weight", [0, -1, float("inf"), float("nan")])
def test_a_weight_is_a_positive_number(weight: float) -> None:
    with pytest.raises(ValueError, match=r"the weight of 'a' is .*; it must be a positive number"):
        Shares({"a": weight})


def presence(**running: int) -> Presence:
    its = Presence(Shares({"double": 2.0}))
    for user, number in running.items():
        for _ in range(number):
            its.started(user)
    return its


def spares(
    its: Presence, user: str, load: int, now_s: float = 0.0, curve: Fit = CURVE, **waiting: int
) -> bool:
    return its.spares(user, load, curve, its.had(now_s, waiting))


STEEP = Fit("usl", (300.0, 1.0, 0.0), 0.99, 1000)


def test_requests_beyond_as_many_as_another_has_may_cost_that_one_little() -> None:
    """Of eight each all have the speed of sixteen at once; more may cost a fifth of it."""
    most = max(load for load in range(1, 200) if CURVE.speed(load) >= 0.8 * CURVE.speed(16))
    its = presence(modest=8, greedy=most - 8)
    assert spares(its, "greedy", most - 1)
    assert not spares(its, "greedy", most)


def test_who_has_least_may_always_start_and_so_may_one_alone() -> None:
    its = presence(modest=8, greedy=150)
    assert spares(its, "modest", 158)
    assert spares(its, "other", 158)
    assert spares(presence(greedy=150), "greedy", 150)


def test_the_first_of_a_users_may_start_whatever_its_weight_and_whatever_else_runs() -> None:
    assert spares(presence(double=1), "modest", 100, curve=STEEP, modest=1)
    its = presence(gone=1)
    its.ended("gone", 10.0)
    assert spares(its, "modest", 100, 10.1, STEEP, modest=1)


def test_a_weight_counts_as_many_requests() -> None:
    assert spares(presence(modest=20, double=39), "double", 59)
    assert not spares(presence(modest=20, double=80), "double", 100)


def test_those_whose_next_request_is_on_its_way_are_still_there() -> None:
    its = presence(modest=8, greedy=100)
    for _ in range(8):
        its.ended("modest", 10.0)
    assert not spares(its, "greedy", 100, 10.1)
    assert not spares(its, "greedy", 100, 10.0 + 2 * HELD_S)
    assert spares(its, "greedy", 100, 10.0 + 3 * HELD_S)


def test_who_has_gone_holds_nobody_at_fewer_and_fewer() -> None:
    its = presence(gone=8, one=6)
    for _ in range(8):
        its.ended("gone", 10.0)
    for away_s in (0.1, HELD_S, 2 * HELD_S, 5 * HELD_S):
        assert spares(its, "one", 6, 10.0 + away_s, STEEP, one=2)
    assert not its._latest


def test_who_has_fewer_now_is_taken_to_have_fewer() -> None:
    its = presence(modest=8, greedy=100)
    for at_s in (10.0, 10.5):
        for _ in range(3):
            its.ended("modest", at_s)
    assert 2 < its.had(10.5 + HELD_S, {}).by_weight[0][0] < 4


def test_what_waits_is_had_too() -> None:
    assert not spares(presence(one=1, other=1), "one", 2, curve=STEEP)
    assert spares(presence(one=1, other=1), "one", 2, curve=STEEP, one=7, other=7)


def test_a_look_at_thousands_of_users_is_quick() -> None:
    its = Presence(Shares())
    waiting = {f"u{number}": 8 for number in range(3000)}
    for user in waiting:
        its.started(user)
    began_s = time.thread_time()
    had = its.had(0.0, waiting)
    assert all(its.spares(user, 3000, CURVE, had) for user in waiting)
    assert time.thread_time() - began_s < 5.0
