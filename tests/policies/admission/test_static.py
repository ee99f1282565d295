"""Static limits, and the one that measured speeds allow."""

from __future__ import annotations

import pytest

from relserve.policies.admission.scalability import SpeedSample
from relserve.policies.admission.static import StaticLimit, best_limit
from relserve.policies.admission.variants import NAMES, make
from tests.policies.admission.views import CURVE, request, running, view


def test_first_come_first_served_up_to_the_limit() -> None:
    waiting = [request("a"), request("b")]
    assert StaticLimit("s", 2).choose(view(waiting, [running("r")])).request is waiting[0]
    assert StaticLimit("s", 1).choose(view(waiting, [running("r")])).request is None
    with pytest.raises(ValueError, match="a limit of 0 lets nobody in"):
        StaticLimit("s", 0)


def test_the_best_limit_is_the_largest_that_is_fast_enough() -> None:
    samples = [SpeedSample(load, CURVE.speed(load)) for load in range(1, 101)]
    assert best_limit(samples, CURVE.speed(44)) == 40
    assert best_limit(samples, 1.0) == 100
    assert best_limit(samples, 1000.0) == 10


def test_where_nothing_was_measured_nothing_is_held_back() -> None:
    """A limit that is not known to be too high is none, as without admission."""
    assert best_limit([], 5.0) == 100
    assert best_limit([SpeedSample(5, 50)], 5.0) == 100
    assert best_limit([SpeedSample(5, 50)], 60.0) == 10


def test_variants_have_names() -> None:
    assert [make(name).name for name in NAMES] == list(NAMES)
    assert make("static-33").name == "static-33"
    for name in ("static-0", "static-x", "fifo"):
        with pytest.raises(ValueError, match=r"no admission policy .*; there are: in_time, saber, static-10"):
            make(name)
