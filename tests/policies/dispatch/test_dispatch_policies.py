"""Where requests go: every policy, with members that come and go, states missing or old, clocks that jump."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.policies.dispatch.member_table import MemberTable
from relserve.policies.dispatch.policy import DispatchPolicy
from relserve.policies.dispatch.predicted import Predicted
from relserve.policies.dispatch.prism import STALE_S, Prism
from relserve.policies.dispatch.state import Member, Request
from relserve.policies.dispatch.variants import NAMES, make
from tests.policies.dispatch.fleets import ASKED, FAST, SLOW, fleet, idle

each = pytest.mark.parametrize("name", NAMES)


def sent(policy: DispatchPolicy, members: MemberTable, number: int, request: Request = ASKED) -> Counter[str]:
    """Where so many requests go that all come at once, each of which is counted."""
    found: Counter[str] = Counter()
    for _ in range(number):
        row = policy.choose(request, members, 0.0)
        members.sent(row, request, 0.0)
        found[members.names[row]] += 1
    return found


@each
def test_nobody_is_an_error_and_one_is_chosen(name: str) -> None:
    with pytest.raises(ValueError, match="no member"):
        make(name).choose(ASKED, MemberTable(), 0.0)
    assert make(name).choose(ASKED, fleet(FAST), 0.0) == 0


def test_an_unknown_name_lists_the_others() -> None:
    with pytest.raises(ValueError, match=r"'best'; there are: round_robin, .*, predicted"):
        make("best")


@pytest.mark.cells(2)
@each
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4), st.floats(-10, 10)), max_size=30))
def test_any_history_leads_to_a_member(name: str, history: list[tuple[int, int, float]]) -> None:
    """Members join and leave, some never report, some report nonsense, and the clock jumps."""
    policy, members, now_s = make(name), fleet(FAST, SLOW, reported=False), 0.0
    requests = [
        ASKED, Request(1, 1), Request(1e7, 1e7, 0.0, 0.0), Request(50, 5, inf, 0.02),
        Request(900, 10, 1.0, inf, {"m0": 800, "gone": 900, "m2": 1e9}),
    ]  # fmt: skip
    for sequence, (what, which, passed_s) in enumerate(history):
        now_s += passed_s
        if what == 0:
            members.join(Member(f"m{which}", FAST if which % 2 else SLOW, 8192, 1e5))
        elif what == 1 and len(members) > 1:
            members.leave(f"m{which}")
        elif what == 2:
            busy = idle(
                FAST, sequence=sequence, prompt_tokens=10.0**which, num_waiting=which, free_tokens=-1e9,
                step_s=1e3, budget_tokens=which, peak_tokens_per_s=0.0,
            )  # fmt: skip
            members.report(f"m{which}", busy, now_s)
        row = policy.choose(requests[which], members, now_s)
        assert 0 <= row < len(members)
        members.sent(row, requests[which], now_s)


@each
def test_equal_members_with_nothing_to_do_share(name: str) -> None:
    """Also where all look alike for they have not reported since: nobody gets everything."""
    found = sent(make(name), fleet(*[FAST] * 4), 80)
    assert len(found) == 4
    assert max(found.values()) <= 40


@each
def test_a_choice_is_quick_among_64(name: str) -> None:
    policy, members = make(name), fleet(*[FAST, SLOW] * 32)
    times = []
    for i in range(200):
        started = time.thread_time()
        policy.choose(ASKED, members, 0.01 * i)
        times.append(time.thread_time() - started)
    assert np.median(times) < 1e-3  # a tenth of that on a quiet machine: the benchmark says


def test_weighted_goes_by_weights_and_spreads() -> None:
    policy, members = make("weighted"), fleet(FAST, SLOW, weights=(3.0, 1.0))
    order = [policy.choose(ASKED, members, 0.0) for _ in range(8)]
    assert Counter(order) == {0: 6, 1: 2}
    assert 1 in order[:4]
    members.leave("m0")
    assert [policy.choose(ASKED, members, 0.0) for _ in range(3)] == [0, 0, 0]


def test_queues_as_reported_are_not_those_that_are() -> None:
    members = fleet(FAST, FAST)
    members.report("m0", idle(FAST, sequence=1, num_waiting=1, num_running=1, yours=2), 0.0)
    assert sent(make("least_loaded"), members, 10) == {"m1": 10}
    members = fleet(FAST, FAST)
    assert sent(make("least_unanswered"), members, 10) == {"m0": 5, "m1": 5}


def test_two_choices_avoid_the_longest_queue() -> None:
    members = fleet(FAST, FAST, FAST)
    members.report("m1", idle(FAST, sequence=1, num_waiting=9), 0.0)
    assert "m1" not in sent(make("power_of_two"), members, 50)


def test_latency_goes_where_answers_came_soonest() -> None:
    members = fleet(FAST, FAST)
    for row, latency_s in ((0, 2.0), (1, 1.0)):
        members.ended(f"m{row}", members.sent(row, ASKED, 0.0), 1.0, latency_s)
    assert sent(make("latency"), members, 5) == {"m1": 5}


def test_prism_is_eq_9() -> None:
    members = fleet(FAST, FAST)
    report = idle(FAST, sequence=1, step_s=0.5, prompt_tokens=4000, num_running=3, free_tokens=1800)
    members.report("m1", report, 0.0)
    request = replace(ASKED, cached_tokens={"m1": 10.0})
    latency = 1 / (1 + np.exp(8 * (0.5 / 1.0 - 1)))
    load = 1 / (1 + (4000 + 64 * 3) * 3e-5)
    capacity = 1 / (1 + np.exp(-8 * (1800 / 1200 - 1)))
    assert np.exp(Prism().scores(request, members))[1] == pytest.approx(latency * load * capacity * 1.2)
    weighted = Prism(weights=(0.0, 2.0, 0.0, 0.0)).scores(request, members)
    assert np.exp(weighted)[1] == pytest.approx(load**2)


def test_prism_ranks_members_whose_memory_is_promised_many_times_over() -> None:
    members = fleet(FAST, FAST)
    for name, free in (("m0", -1e7), ("m1", -2e7)):
        members.report(name, idle(FAST, sequence=1, free_tokens=free), 0.0)
    assert Prism().choose(ASKED, members, 0.0) == 0


def test_prism_leaves_out_old_states_and_takes_turns_where_all_are() -> None:
    members = fleet(FAST, FAST, FAST, reported=False)
    members.report("m1", idle(FAST, num_waiting=50), 0.0)
    assert {Prism().choose(ASKED, members, STALE_S) for _ in range(3)} == {1}
    prism = Prism()
    assert [prism.choose(ASKED, members, STALE_S + 1) for _ in range(6)] == [0, 1, 2, 0, 1, 2]


def test_prism_as_published_herds_until_the_next_report_and_own_dispatches_mend_it() -> None:
    fleets = [fleet(FAST, FAST) for _ in range(2)]
    for members in fleets:
        members.report("m0", idle(FAST, sequence=1, prompt_tokens=100), 0.0)
    assert sent(make("prism"), fleets[0], 20) == {"m1": 20}
    assert sent(make("prism+own"), fleets[1], 20)["m0"] >= 9


def test_ours_gives_the_slow_its_share_and_no_more() -> None:
    found = sent(make("predicted"), fleet(FAST, SLOW), 60)
    assert 3 <= found["m1"] <= 20


def test_ours_avoids_a_member_that_cannot_keep_the_limit() -> None:
    tight = replace(ASKED, tpot_slo_s=0.012)  # a step of the slow one alone takes 18 ms
    assert sent(make("predicted"), fleet(FAST, SLOW), 12, tight)["m1"] == 0
    assert make("predicted").choose(tight, fleet(SLOW), 0.0) == 0


def test_ours_takes_a_held_prefix_for_what_it_saves() -> None:
    members = fleet(FAST, FAST)
    members.report("m0", idle(FAST, sequence=1, prompt_tokens=500, budget_tokens=500), 0.0)
    policy = Predicted()
    assert policy.choose(ASKED, members, 0.0) == 1
    assert policy.choose(replace(ASKED, cached_tokens={"m0": 900.0}), members, 0.0) == 0
    assert policy.choose(replace(ASKED, cached_tokens={"m0": 100.0}), members, 0.0) == 1


def test_ours_knows_a_member_that_never_reported_by_its_calibration() -> None:
    found = sent(make("predicted"), fleet(FAST, FAST, reported=False), 20)
    assert found == {"m0": 10, "m1": 10}


def test_ours_leaves_a_member_that_has_fallen_silent() -> None:
    members = fleet(FAST, FAST)
    members.report("m1", idle(FAST, sequence=1, num_waiting=3, prompt_tokens=3000), 20.0)
    assert make("predicted").choose(ASKED, members, 20.0) == 1


def test_ours_follows_what_a_member_reports_of_its_speed() -> None:
    members = fleet(FAST, FAST)
    slowed = replace(FAST, prefill_per_token_s=9e-5, decode_base_s=27e-3, mixed_base_s=9e-3)
    members.report("m0", idle(FAST, sequence=1, cost=slowed), 0.0)
    found = sent(make("predicted"), members, 40)
    assert found["m0"] < 0.4 * found["m1"]


def test_ours_waits_for_no_memory_where_there_is_some() -> None:
    members = fleet(FAST, FAST)
    members.report("m0", idle(FAST, sequence=1, free_tokens=100), 0.0)
    assert sent(make("predicted"), members, 8) == {"m1": 8}


def test_without_limits_ours_counts_decoding() -> None:
    plain = Request(10, 500)
    assert sent(make("predicted"), fleet(FAST, SLOW), 5, plain)["m0"] == 5
