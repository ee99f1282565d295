"""Ours: who starts, who is protected, and that hopeless requests neither block nor starve."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.policies.admission.forecast import forecast
from relserve.policies.admission.in_time import InTimeAdmission
from relserve.policies.admission.policy import Learnt
from tests.policies.admission.views import CURVE, request, running, view

OURS = InTimeAdmission("in_time")


def test_the_forecast_is_what_sharing_gives() -> None:
    """Two that need 100 and 300: both until the first ends, then one alone."""
    found = forecast(np.array([100.0, 300.0]), CURVE.table)
    first = 100 / CURVE.speed(2)
    assert found.end_s == pytest.approx([first, first + 200 / CURVE.speed(1)])
    assert found.got(np.array([-1.0, first / 2, first, first + 1, 1000.0])) == pytest.approx(
        [0, 50, 100, 100 + CURVE.speed(1), 300 + (1000 - found.end_s[1]) * CURVE.speed(1)]
    )


@given(st.lists(st.floats(1, 1000), min_size=1, max_size=30), st.floats(1, 1000))
def test_one_more_ends_nobody_sooner(work: list[float], more: float) -> None:
    alone = forecast(np.sort(np.array(work)), CURVE.table).end_s
    together = np.sort(np.array([*work, more]))
    at = int(np.searchsorted(together, more))
    with_it = np.delete(forecast(together, CURVE.table).end_s, at)
    assert (with_it >= alone - 1e-9).all()


def test_an_idle_engine_takes_whoever_can_be_in_time() -> None:
    its = request("a", 500, 10)
    assert OURS.choose(view([its])).request is its


def test_nobody_starts_who_makes_others_late() -> None:
    """20 that are just in time; a 21st, which would be, makes all late."""
    inside = [running(f"r{i}", 700, 10) for i in range(20)]
    assert OURS.choose(view([request("large", 700, 20)], inside)).request is None
    small = request("small", 5, 1)
    assert OURS.choose(view([request("large", 700, 20), small], inside)).request is small


def test_who_has_nearly_ended_is_not_in_the_way() -> None:
    """SABER holds the others to the speed needed at their start; here they have 1 % left."""
    inside = [running(f"r{i}", 660, 10, needed_speed=66) for i in range(20)]
    for each in inside:
        each.num_output_tokens = 655
    its = request("large", 500, 10)
    assert OURS.choose(view([its], inside, now_s=0)).request is its


def test_hopeless_requests_do_not_block() -> None:
    hopeless = [request(f"h{i}", 100, 0.5) for i in range(50)]
    able = request("able", 500, 10)
    chosen = OURS.choose(view([*hopeless, able]))
    assert chosen.request is able
    assert not chosen.late


def test_a_hopeless_request_runs_one_at_a_time_at_least() -> None:
    inside = [running(f"r{i}", 660, 10) for i in range(20)]
    hopeless = [request("h0", 5000, 10), request("h1", 4000, 10)]
    chosen = OURS.choose(view(hopeless, inside))
    assert chosen.late
    assert chosen.request is hopeless[1]
    late = running("late", 5000, -1)
    assert OURS.choose(view(hopeless, [*inside, late], now_s=0)).request is None


def test_what_probably_comes_counts() -> None:
    """Many small ones are expected, which a large one that stays for seconds would slow."""
    inside = [running(f"r{i}", 300, 100) for i in range(20)]
    its = view([request("large", 600, 12)], inside)
    assert OURS.choose(its).request is not None
    coming = {**its.learnt, "small": Learnt(1.0, 0.3, per_s=30.0, limit_s=1.0, work=65.0)}
    assert OURS.choose(its._replace(learnt=coming)).request is None


def test_a_poor_curve_means_the_static_limit_hopeless_last() -> None:
    hopeless, able = request("hopeless", 10, 1), request("able", 10, 100)
    inside = [running("r0"), running("r1")]
    chosen = OURS.choose(view([hopeless, able], inside, now_s=2, poor=True))
    assert chosen.request is able
    assert OURS.choose(view([hopeless, able], [*inside, running("r2")], poor=True)).request is None
    assert OURS.choose(view([hopeless], inside, now_s=2, poor=True)).late


@given(
    st.lists(st.tuples(st.floats(1, 2000), st.floats(-5, 60)), max_size=40),
    st.lists(st.tuples(st.floats(1, 2000), st.floats(-5, 60), st.floats(0, 3000)), max_size=40),
)
def test_an_idle_engine_never_refuses_work(
    waiting: list[tuple[float, float]], inside: list[tuple[float, float, float]]
) -> None:
    """Whatever waits, an idle engine takes one; whoever is chosen did wait."""
    asked = [request(f"w{i}", *each) for i, each in enumerate(waiting)]
    runs = [running(f"r{i}", tokens, limit_s) for i, (tokens, limit_s, _) in enumerate(inside)]
    for each, (_, _, said) in zip(runs, inside, strict=True):
        each.num_output_tokens = said
    chosen = OURS.choose(view(asked, runs)).request
    assert chosen is None or chosen in asked
    if asked and not runs:
        assert chosen is not None
