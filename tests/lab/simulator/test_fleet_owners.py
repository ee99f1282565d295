"""Several owners of a simulated fleet: what each knows, deaths, and how long requests wait for a busy one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lab.simulator.fleet.member import SimMember
from lab.simulator.fleet.owner import SimulatedOwner
from lab.simulator.fleet.run import Death, FleetOutcome, Link, Owners, simulate
from relserve.policies.dispatch.router import Asked, Router
from relserve.policies.dispatch.state import Report
from relserve.policies.dispatch.variants import make
from tests.lab.simulator.fleets import SLOW, load, member


def run(number: int, name: str = "prism", **more: Any) -> FleetOutcome:
    members = [member("a"), member("b", SLOW), member("c")]
    return simulate(load(80, 30.0), members, make(name), owners=Owners(number, **more))


def ttft_s(outcome: FleetOutcome) -> float:
    return float(np.mean([served.ttft_s for served in outcome.served]))


def test_one_owner_whose_work_takes_no_time_changes_nothing() -> None:
    members = [member("a"), member("b", SLOW), member("c")]
    outcome = simulate(load(80, 30.0), members, make("predicted"), seed=3, deaths=[Death(0.5, "a", 0.8)])
    found = sum(s.first_s for s in outcome.served), sum(s.ended_s for s in outcome.served), outcome.num_steps
    assert found == pytest.approx((133.56931600415592, 185.0871210785458, 736))  # before there were several


@pytest.mark.cells(1)
@pytest.mark.parametrize("name", ["round_robin", "prism", "predicted"])
@pytest.mark.parametrize("slow", [Owners(4), Owners(4, 0.02, 0.002, 3)])
def test_every_request_is_answered_once_whatever_owner_sent_it(name: str, slow: Owners) -> None:
    members = [member("a"), member("b", SLOW), member("c")]
    deaths = [Death(0.5, "a", 0.8), Death(1.5, "c"), Death(2.0, "b", 0.5)]
    for sessions in (0, 7):
        outcome = simulate(load(sessions=sessions), members, make(name), seed=3, deaths=deaths, owners=slow)
        assert [served.answers for served in outcome.served] == [1] * 60
        assert max(served.attempts for served in outcome.served) > 1
        assert len(outcome.waits_s) == sum(served.attempts for served in outcome.served)


def test_who_comes_to_any_owner_while_nobody_is_there_waits() -> None:
    deaths = [Death(0.0, "a", 3.0)]
    outcome = simulate(load(10), [member("a")], make("predicted"), deaths=deaths, owners=Owners(4, 0.01))
    assert [served.answers for served in outcome.served] == [1] * 10
    assert min(served.first_s for served in outcome.served) > 3.0


def test_a_member_tells_each_owner_of_its_own_requests() -> None:
    its = SimMember(member("a"), 1)
    for number, owner in enumerate((0, 2, 0, 2, 2)):
        its.receive(Asked(str(number), 100), 2, 10 * owner + number, 0.0, 0.0, owner)
    its.begin(0.0)
    first, second, third = its.reports([0, 1, 2])
    assert [(each.seen, each.yours) for each in (first, second, third)] == [(2, 2), (-1, 0), (24, 3)]
    assert {each.num_running + each.num_waiting for each in (first, second, third)} == {5}
    its.start()
    assert [each.yours for each in its.reports([0, 1, 2])] == [0, 0, 0]


@pytest.mark.long
def test_what_reports_say_is_what_owners_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, plain = [], Router.report

    def report(router: Router, name: str, said: Report, now_s: float) -> bool:
        its = [each for each in router.open.values() if each.member == name and each.number <= said.seen]
        taken.append((said.yours, len(its)))
        known = plain(router, name, said, now_s)
        row = router.members.row(name)
        assert router.members["others"][row] == said.num_running + said.num_waiting - said.yours
        return known

    monkeypatch.setattr(Router, "report", report)
    members = [member("a"), member("b", SLOW)]
    simulate(load(60), members, make("predicted"), Link(0.0, 0.0), owners=Owners(3))
    assert len(taken) > 300
    assert all(yours == its for yours, its in taken)


@pytest.mark.long
def test_owners_without_work_of_their_own_cost_round_robin_nothing() -> None:
    one, four = (run(number, "round_robin") for number in (1, 4))
    assert max(one.waits_s) == max(four.waits_s) == 0.0
    assert four.num_reports > 3.5 * one.num_reports
    assert not one.num_lost + four.num_lost


@pytest.mark.long
def test_an_owner_that_has_too_much_to_do_delays_requests_and_more_owners_cure_it() -> None:
    mean = {number: ttft_s(run(number, request_s=0.08)) for number in (1, 4)}
    assert mean[1] > 1.0 > 2 * mean[4]
    waits_s = run(1, request_s=0.08).waits_s
    assert waits_s[-1] == pytest.approx(80 * (0.08 - 1 / 30), rel=0.2)  # 30 a second come, 12.5 leave


@pytest.mark.long
def test_more_owners_do_not_cure_reports_and_rarer_ones_do() -> None:
    members = [member(name) for name in "abcd"]
    wait_s = {
        (number, every_s): float(np.mean(simulate(
            load(80, 30.0), members, make("predicted"), Link(every_s=every_s),
            owners=Owners(number, 0.001, 0.015),
        ).waits_s))
        for number, every_s in ((1, 0.02), (4, 0.02), (4, 0.08), (1, 0.08))
    }  # fmt: skip
    assert wait_s[1, 0.02] > 0.3
    assert wait_s[4, 0.02] > 0.3
    assert max(wait_s[4, 0.08], wait_s[1, 0.08]) < 0.1


def test_a_full_socket_loses_reports_and_requests_wait_no_longer() -> None:
    outcome = run(1, "predicted", request_s=0.001, report_s=0.05, most_waiting=4)
    assert outcome.num_lost > 0.3 * outcome.num_reports
    assert max(outcome.waits_s) < 5 * 0.05 + 0.02


def test_a_busy_owner_does_one_thing_after_the_other() -> None:
    owner = SimulatedOwner(0, Router(make("predicted")), Owners(1, 2.0, 1.0, 1))
    assert owner.asked(10.0) == 12.0
    assert owner.told(11.0) == 13.0
    assert owner.told(11.5) is None
    owner.num_waiting -= 1
    assert owner.told(20.0) == 21.0


def test_members_that_have_nothing_to_do_need_not_report_all_at_once() -> None:
    members, many = [member(name) for name in "abcdef"], Owners(1, 0.0, 0.01, 2)
    links = Link(every_s=1.0), Link(every_s=1.0, num_beats=6)
    one, apart = (simulate(load(10), members, make("predicted"), link, owners=many) for link in links)
    assert one.num_lost >= 4
    assert apart.num_lost < one.num_lost


def test_no_owner_is_an_error() -> None:
    with pytest.raises(ValueError, match="one owner at least"):
        run(0)
