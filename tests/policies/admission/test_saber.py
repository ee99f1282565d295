"""SABER's Algorithm 1, line by line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import inf

import pytest

from relserve.policies.admission.controller import AdmissionController
from relserve.policies.admission.offline import LOADS, PROMPT_SHARE, profile
from relserve.policies.admission.online import OnlineCurve
from relserve.policies.admission.policy import AdmissionChoice, RunningRequest
from relserve.policies.admission.request import AdmissionRequest, Admit
from relserve.policies.admission.saber import DELTA_S, WINDOW, Saber
from relserve.policies.admission.scalability import SpeedSample
from relserve.policies.model.linear import CostModel
from tests.policies.admission.views import CURVE, request, running, view

SAMPLES = [SpeedSample(load, CURVE.speed(load)) for load in (1, 5, 20, 50, 100)]


def chosen(
    waiting: Sequence[AdmissionRequest], inside: Sequence[RunningRequest] = (), now_s: float = 0
) -> AdmissionChoice:
    """One iteration."""
    return Saber("saber").choose(view(waiting, inside, now_s))


def controller(**more: object) -> AdmissionController:
    return AdmissionController(Saber("saber"), OnlineCurve(SAMPLES, learns=False), **more)  # type: ignore[arg-type]


def test_who_would_be_too_slow_is_not_admitted() -> None:
    """Lines 8 to 11: 20 run already, the speed at 21 is 69 tokens a second."""
    inside = [running(f"r{i}") for i in range(20)]
    assert chosen([request("able", 690, 10)], inside).request is not None
    assert chosen([request("unable", 700, 10)], inside).request is None


def test_who_runs_is_not_slowed_below_the_speed_of_its_admission() -> None:
    """Line 10, its second half."""
    inside = [running("held", needed_speed=99.0)]
    assert chosen([request("new", 10, 10)], inside).request is None
    assert chosen([request("new", 10, 10)], [running("free", needed_speed=90.0)]).request


def test_waiting_makes_it_need_more_and_then_hopeless() -> None:
    """Section IV-C's example: 500 tokens in 10 s need 50 a second, after 5 s 100; line 9."""
    its = request("a", 500, 10)
    assert its.needed_speed(0) == 50
    assert its.needed_speed(5) == 100
    found = chosen([its], now_s=6)
    assert found.request is its
    assert found.late


def test_the_low_queue_waits_for_the_high_one_to_be_empty() -> None:
    """Lines 5 and 17."""
    inside = [running(f"r{i}") for i in range(34)]
    hopeless, able = request("hopeless", 5000, 10), request("able", 900, 10)
    assert chosen([hopeless, able], inside).request is None
    assert chosen([hopeless], inside).request is hopeless


def test_one_users_low_queue_waits_for_the_high_queue_of_all_others() -> None:
    """Line 17 is about one queue for all: a lost limit goes before nobody's that can be kept."""
    its = controller()
    for i in range(34):
        its.offered(request(f"r{i}", 10, inf, user="ann"), i * DELTA_S)
    its.offered(request("able", 900, 10, arrival_s=1, user="bob"), 1.0)  # 34 run: too slow for it
    its.offered(request("hopeless", 5000, 10, arrival_s=1, user="ann"), 1.1)
    for step in range(10):
        assert not any(each.user == "bob" for each in its.poll(1.2 + 0.04 * step).started)
        assert its.load == 34
    its.gone("able", 1.7)
    assert [each.request_id for each in its.poll(1.8).started] == ["hopeless"]


def test_the_low_queue_is_served_in_order_without_a_look_at_the_speed() -> None:
    """Lines 18 to 20, one an iteration, also past the deadline."""
    its = controller(most=20)
    for i in range(20):
        its.offered(request(f"r{i}", 10, inf), i * DELTA_S)
    for name, came_s in (("third", 1.3), ("first", 1.1), ("second", 1.2)):
        its.offered(request(name, 5000, 10, arrival_s=came_s), 1.4)
    its.most = None
    started = [its.poll(20.0 + step).started for step in range(3)]
    assert [[each.request_id for each in turn] for turn in started] == [["first"], ["second"], ["third"]]


def test_nobody_is_refused_also_whose_limit_is_over_when_it_comes() -> None:
    its = controller(most=1)
    assert isinstance(its.offered(request("a", 100, 10), 0.0), Admit)
    its.offered(request("b", 100, 2), 0.0)
    its.offered(request("over", 100, 1), 5.0)
    turns = [its.poll(6.0), its.done("a", 7.0, 100), its.done("b", 8.0, 100)]
    assert [each.request_id for turn in turns for each in turn.started] == ["b", "over"]
    assert not any(turn.refused for turn in turns)


def test_who_runs_without_hope_shuts_nobody_out() -> None:
    """No speed is recorded where line 20 executes; by its own it would need 5,000 tokens a second."""
    its = controller()
    its.offered(request("hopeless", 5000, 1), 0.0)
    assert its.load == 1
    assert isinstance(its.offered(request("able", 10, 10), 1.0), Admit)


def test_one_starts_in_delta_however_often_it_is_asked() -> None:
    """Line 23, after an iteration in which nobody started, too."""
    its = controller()
    for i in range(10):
        its.offered(request(f"r{i}", 10, inf), 0.0)
    assert its.load == 1
    its.poll(0.9 * DELTA_S)
    assert its.load == 1
    for step in range(1, 10):
        its.poll(1.001 * step * DELTA_S)
        assert its.load == 1 + step
    policy, slow = Saber("saber"), [running("held", needed_speed=99.0)]
    assert policy.choose(view([request("a")], slow)).request is None
    assert policy.choose(view([request("a")], (), 0.5 * DELTA_S)).request is None
    assert policy.choose(view([request("a")], (), 1.1 * DELTA_S)).request is not None


def test_a_clock_that_goes_back_stops_nobody() -> None:
    policy = Saber("saber")
    policy.choose(view([request("a")], now_s=100))
    assert policy.choose(view([request("b")], now_s=1)).request is not None


def test_only_the_first_of_the_queue_are_looked_at() -> None:
    """Line 6: in the order of arrival, whoever came to the controller first."""
    inside = [running(f"r{i}") for i in range(34)]
    slow = [request(f"slow{i}", 900, 10) for i in range(WINDOW)]
    quick = request("quick", 10, 10, arrival_s=0.1)
    assert chosen([quick, *slow], inside, 0.1).request is None
    assert chosen([quick, *slow[1:]], inside, 0.1).request is quick


def test_the_window_is_tried_in_random_order_and_a_seed_repeats_it() -> None:
    waiting = [request(f"w{i}", 10, inf) for i in range(WINDOW)]

    def firsts(seed: int) -> list[str]:
        policy = Saber("s", seed=seed)
        found = [policy.choose(view(waiting, now_s=0.1 * i)).request for i in range(200)]
        return [each.request_id for each in found if each is not None]

    assert firsts(1) == firsts(1) != firsts(2)
    assert min(Counter(firsts(1)).values()) > 20


def test_without_an_offline_phase_there_is_no_decision() -> None:
    with pytest.raises(ValueError, match="saber decides by speeds that are known beforehand"):
        Saber("saber").choose(view([request("a")])._replace(curve=None))


def test_the_offline_phase_is_what_the_cost_model_says_of_its_steps() -> None:
    """A token a step for each, and for each token of an answer as much of a prompt as Table I has."""
    cost = CostModel(2e-5, 3e-3, 1e-4, 5e-3)
    samples = profile(cost)
    assert [sample.load for sample in samples] == list(LOADS)
    of_ten = 1.0 / (5e-3 + 10 * (1e-4 + 2e-5 * PROMPT_SHARE))
    curve = OnlineCurve(samples, learns=False).curve
    assert curve is not None
    assert curve.speed(10) == pytest.approx(of_ten, rel=0.02)
    assert curve.r2 > 0.999
    assert PROMPT_SHARE == pytest.approx((186 + 463 + 31 + 670) / (43 + 387 + 30 + 617))


def test_engines_that_share_the_load_are_as_fast_as_one_with_its_part() -> None:
    cost = CostModel(2e-5, 3e-3, 1e-4, 5e-3)
    assert profile(cost, 4) == [SpeedSample(4 * load, speed) for load, speed in profile(cost)]


def test_what_is_measured_while_it_serves_changes_nothing() -> None:
    its = controller()
    before = its.curve.curve
    for i in range(8):
        its.offered(request(f"r{i}", 1000, inf), i * DELTA_S)
    for step in range(1, 40):
        its.progress({f"r{i}": 2.0 * step for i in range(8)}, 1 + step)
    assert its.curve.curve is before
