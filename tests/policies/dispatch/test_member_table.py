"""What a router knows of members: own dispatches, answers, reports that are late, lost or out of order."""

from __future__ import annotations

from math import inf, isinf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.policies.dispatch.member_table import TRUST_S, MemberTable
from relserve.policies.dispatch.state import Member
from tests.policies.dispatch.fleets import ASKED, FAST, SLOW, fleet, idle


def since(members: MemberTable) -> list[float]:
    return members["since_prompt"].tolist()


def test_what_was_sent_counts_until_a_report_has_it() -> None:
    members = fleet(FAST, SLOW)
    first, second = members.sent(0, ASKED, 0.0), members.sent(0, ASKED, 0.0)
    assert since(members) == [2000, 0]
    members.report("m0", idle(FAST, sequence=1, seen=first, yours=1, num_running=1, prompt_tokens=900), 0.1)
    assert since(members) == [1000, 0]
    assert members["backlog"].tolist() == [1900, 0]
    members.report("m0", idle(FAST, sequence=2, seen=second, yours=2, num_running=2), 0.2)
    assert since(members) == [0, 0]
    assert members.num_requests().tolist() == [2, 0]


def test_others_requests_are_told_from_ones_own() -> None:
    members = fleet(FAST)
    number = members.sent(0, ASKED, 0.0)
    members.report("m0", idle(FAST, sequence=1, seen=number, yours=1, num_running=3, num_waiting=2), 0.1)
    assert members.num_requests().tolist() == [5]
    members.ended("m0", number, 0.2, 0.2)
    assert members.num_requests().tolist() == [4]


def test_an_answer_that_comes_before_the_report_of_its_request_counts_once() -> None:
    members = fleet(FAST)
    number = members.sent(0, ASKED, 0.0)
    for _ in range(2):
        members.ended("m0", number, 0.1, 0.1)
    assert since(members) == [0]
    assert members.num_requests().tolist() == [0]


def test_reports_that_come_late_twice_or_from_nobody_count_for_nothing() -> None:
    members = fleet(FAST)
    assert members.report("m0", idle(FAST, sequence=5, num_waiting=7), 0.1)
    assert not members.report("m0", idle(FAST, sequence=4, num_waiting=1), 0.2)
    assert not members.report("m0", idle(FAST, sequence=5, num_waiting=1), 0.2)
    assert not members.report("nobody", idle(FAST, sequence=9), 0.2)
    assert members["num_waiting"].tolist() == [7]
    assert members.report("m0", idle(FAST, incarnation=1, sequence=0, num_waiting=1), 0.3)
    assert members["num_waiting"].tolist() == [1]


def test_a_member_that_leaves_gives_back_what_it_has_not_answered() -> None:
    members = fleet(FAST, SLOW, FAST)
    kept, lost, done = members.sent(2, ASKED, 0.0), members.sent(0, ASKED, 0.0), members.sent(0, ASKED, 0.0)
    members.ended("m0", done, 0.1)
    assert members.leave("m0") == [lost]
    assert members.leave("m0") == []
    assert sorted(members.names) == ["m1", "m2"]
    row = members.row("m2")
    assert members["unanswered"][row] == 1
    assert members["token_s"][members.row("m1")] == SLOW.prefill_per_token_s
    members.ended("m2", kept, 0.2)
    assert members["unanswered"].tolist() == [0, 0]


def test_a_member_that_comes_back_has_nothing_and_is_known_by_its_calibration() -> None:
    members = fleet(FAST)
    members.sent(0, ASKED, 0.0)
    members.report("m0", idle(FAST, sequence=9, num_waiting=5, cost=SLOW), 0.1)
    members.join(Member("m0", FAST, 8192, 400_000))
    assert len(members) == 1
    assert members.num_requests().tolist() == [0]
    assert members["token_s"].tolist() == [FAST.prefill_per_token_s]
    assert isinf(members.ages_s(5.0)[0])
    assert not members.report("m0", idle(FAST, sequence=9, num_waiting=5), 0.2)
    assert members.report("m0", idle(FAST, incarnation=1), 0.3)


def test_prompts_are_taken_to_be_computed_as_time_passes_but_not_by_one_that_is_silent() -> None:
    members = fleet(FAST)
    members.report("m0", idle(FAST, sequence=1, prompt_tokens=60_000, budget_tokens=500), 1.0)
    remaining = [float(members.remaining_tokens(at_s)[0]) for at_s in (1.0, 1.5, 1.0 + TRUST_S, 100.0)]
    assert remaining[0] == 60_000
    assert remaining[1] == pytest.approx(60_000 - 0.5 * 500 / FAST.step(500, 0) * 1.0, rel=0.2)
    assert 0 < remaining[2] == remaining[3] < remaining[1]
    assert members.silent_s(100.0)[0] == pytest.approx(99.0 - TRUST_S)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20))
def test_clocks_that_jump_make_no_age_negative_and_no_backlog_grow(times: list[float]) -> None:
    members = fleet(FAST)
    members.sent(0, ASKED, 0.0)
    for now_s in times:
        assert members.ages_s(now_s)[0] >= 0.0
        assert 0.0 <= members.remaining_tokens(now_s)[0] <= 1000.0
        assert np.isfinite(members.silent_s(now_s)).all()


def test_latencies_are_those_of_two_seconds_else_the_last_known() -> None:
    members = fleet(FAST, FAST)
    for at_s, latency_s in ((0.0, 9.0), (3.0, 1.0), (4.0, 2.0)):
        members.ended("m0", members.sent(0, ASKED, 0.0), at_s, latency_s)
    assert members.latencies_s(4.5).tolist() == [1.5, 0.0]
    assert members.latencies_s(99.0).tolist() == [1.5, 0.0]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), max_size=60))
def test_numbers_never_drift(events: list[tuple[int, int]]) -> None:
    """Whatever joins, leaves, is sent, answered or reported: columns are what the dispatches add up to."""
    members = MemberTable()
    open_: list[tuple[str, int]] = []
    for step, (what, which) in enumerate(events):
        name = f"m{which}"
        row = members.row(name)
        if what == 0:
            members.join(Member(name, FAST, 8192, 1e5))
            open_ = [each for each in open_ if each[0] != name]
        elif what == 1:
            lost = members.leave(name)
            assert sorted(lost) == sorted(number for its, number in open_ if its == name)
            open_ = [each for each in open_ if each[0] != name]
        elif what in (2, 3) and row >= 0:
            open_.append((name, members.sent(row, ASKED, float(step))))
        elif what == 4 and open_:
            members.ended(*open_.pop(which % len(open_)), float(step), 1.0)
        elif what == 5 and row >= 0:
            mine = [number for its, number in open_ if its == name]
            members.report(name, idle(FAST, sequence=step, seen=max(mine, default=-1), yours=len(mine)), step)
    for row, name in enumerate(members.names):
        assert members.row(name) == row
        assert members["unanswered"][row] == sum(its == name for its, _ in open_)
        assert 0 <= members["since_num"][row] <= members["unanswered"][row]
        assert members["since_prompt"][row] == 1000 * members["since_num"][row]
    assert members.ages_s(inf).tolist() == [inf] * len(members)
