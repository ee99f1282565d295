"""A fleet's router: nothing lost when members go, lengths learnt, who is taken to hold which prompts."""

from __future__ import annotations

import pytest

from relserve.policies.dispatch.router import GUESS, Asked, Router
from relserve.policies.dispatch.state import Member
from relserve.policies.dispatch.variants import make
from relserve.policies.model.local_cost import LEARNT, LocalCost
from relserve.policies.model.work import Work
from tests.policies.dispatch.fleets import FAST, SLOW, idle


def router(number: int = 2, policy: str = "round_robin") -> Router:
    found = Router(make(policy))
    for i in range(number):
        found.join(Member(f"m{i}", FAST, 8192, 4e5))
    return found


def test_what_a_dead_member_had_is_given_back_once() -> None:
    its = router()
    for i in range(6):
        its.send(Asked(str(i), 100), 0.0)
    its.ended("0", 1.0, 10)
    assert [asked.request_id for asked in its.leave("m0")] == ["2", "4"]
    assert its.leave("m0") == []
    assert {its.send(Asked(i, 100), 2.0)[0] for i in ("2", "4")} == {"m1"}
    assert sorted(its.open) == ["1", "2", "3", "4", "5"]


def test_answers_of_requests_that_were_sent_elsewhere_meanwhile_are_counted_there() -> None:
    its = router()
    its.send(Asked("a", 100), 0.0)
    [asked] = its.leave("m0")
    its.send(asked, 1.0)
    its.ended("a", 2.0, 5)
    its.ended("a", 2.0, 5)
    assert its.members["unanswered"].tolist() == [0]


def test_nobody_there_is_an_error_and_changes_nothing() -> None:
    its = router(0)
    with pytest.raises(ValueError, match="no member"):
        its.send(Asked("a", 100), 0.0)
    assert not its.open


def test_lengths_are_learnt_by_kind_and_never_above_the_cap() -> None:
    its = router()
    assert its.request(Asked("x", 10)).output_tokens == GUESS
    assert its.request(Asked("x", 10, cap=16)).output_tokens == 16
    for i in range(200):
        kind, num_output_tokens = (("short", 5), ("long", 900))[i % 2]
        its.send(Asked(str(i), 10, kind=kind), 0.0)
        its.ended(str(i), 1.0, num_output_tokens)
    assert its.request(Asked("x", 10, kind="short")).output_tokens == pytest.approx(5, abs=1)
    assert its.request(Asked("x", 10, kind="long")).output_tokens == pytest.approx(900, rel=0.05)
    its.send(Asked("y", 10, kind="short"), 0.0)
    its.ended("y", 1.0)
    assert its.request(Asked("x", 10, kind="short")).output_tokens == pytest.approx(5, abs=1)


def test_a_session_is_taken_to_be_held_where_it_was_until_that_member_goes() -> None:
    its = router()
    name, _ = its.send(Asked("a", 500, session="s"), 0.0)
    again = Asked("b", 900, session="s", shared_tokens=450)
    assert its.request(again).cached_tokens == {name: 450}
    assert its.request(again._replace(shared_tokens=0)).cached_tokens == {}
    its.leave(name)
    assert its.request(again).cached_tokens == {}


def test_a_saving_is_not_counted_as_backlog() -> None:
    its = router(1)
    its.send(Asked("a", 500, session="s"), 0.0)
    its.send(Asked("b", 900, session="s", shared_tokens=450), 0.0)
    assert its.members["since_prompt"].tolist() == [500 + 450]


def test_reports_reach_the_members_table() -> None:
    its = router()
    assert its.report("m1", idle(FAST, sequence=1, num_waiting=3), 1.0)
    assert its.members["num_waiting"].tolist() == [0, 3]


def test_a_members_cost_is_right_at_its_load_and_follows_a_slow_turn() -> None:
    cost = LocalCost(FAST, 100.0)

    def run(number: int, factor: float) -> None:
        for i in range(number):
            tokens = 0 if i % 3 == 0 else 300 + i % 50
            seconds = factor * (SLOW.step(tokens, 20) if tokens else SLOW.decode(20))
            cost.budget_tokens = tokens + 20.0
            cost.add(Work(tokens, num_decodes=20), seconds)

    run(60, 1.0)
    assert cost.model.decode(20) == pytest.approx(SLOW.decode(20), rel=0.1)
    assert cost.model.step(320, 20) == pytest.approx(SLOW.step(320, 20), rel=0.1)
    run(LEARNT, 1.0)
    assert cost.model.prefill_per_token_s == pytest.approx(SLOW.prefill_per_token_s, rel=0.1)
    run(60, 3.0)
    assert cost.model.step(320, 20) == pytest.approx(3 * SLOW.step(320, 20), rel=0.15)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_times_that_are_none_teach_nothing(seconds: float) -> None:
    cost = LocalCost(FAST, 100.0)
    cost.add(Work(100, num_decodes=5), seconds)
    assert cost.model == FAST
