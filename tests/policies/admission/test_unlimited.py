"""Requests without a limit: free where nobody has one, held back where they would cost those who have."""

from __future__ import annotations

from math import inf

from relserve.policies.admission.in_time import InTimeAdmission
from relserve.policies.admission.policy import Learnt
from tests.policies.admission.views import request, running, view

OURS = InTimeAdmission("in_time")
FREE = request("free", 100, inf)


def inside(number: int, limit_s: float) -> list:  # type: ignore[type-arg]
    return [running(f"r{i}", 700, limit_s) for i in range(number)]


def test_where_nobody_has_a_limit_all_start_in_their_order() -> None:
    found = OURS.choose(view([FREE, request("next", 1, inf)], inside(90, inf)))
    assert found.request is FREE


def test_one_without_a_limit_runs_in_any_case_and_a_second_where_it_costs_little() -> None:
    tight, easy = inside(20, 10.5), inside(20, 100)
    assert OURS.choose(view([FREE], tight)).request is FREE
    one, long = running("f", 700, inf), request("long", 700, inf)
    found = OURS.choose(view([long], [*tight, one]))
    assert found.request is None
    assert found.reason == "without a limit it waits for those that have one"
    assert OURS.choose(view([long], [*easy, one])).request is long


def test_those_with_limits_go_first() -> None:
    its = request("its", 100, 10)
    assert OURS.choose(view([FREE, its], [running("f", 100, inf)])).request is its


def test_room_is_kept_for_those_with_limits_who_probably_come() -> None:
    """Between two of them nobody has a limit; at 2 a second, 70 without one would make them late."""
    coming = Learnt(work=100, spread=0.05, limit_s=2.0, per_s=2.0)  # 49 a second at a load of 35
    seen = view([FREE], [running(f"f{i}", 100, inf) for i in range(70)])
    kept = seen._replace(learnt={**seen.learnt, "interactive": coming})
    assert OURS.choose(seen).request is FREE
    assert OURS.choose(kept).request is None
    few = view([FREE], [running(f"f{i}", 100, inf) for i in range(10)])
    assert OURS.choose(few._replace(learnt={**few.learnt, "interactive": coming})).request is FREE
