"""The controller: decisions in words, estimates, refusals past the deadline only, and what is learnt."""

from __future__ import annotations

from math import inf, nan
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relserve.errors import OptionError
from relserve.policies.admission.controller import BLIND, AdmissionController
from relserve.policies.admission.fair import Shares
from relserve.policies.admission.online import OnlineCurve
from relserve.policies.admission.promise import Promise
from relserve.policies.admission.request import Admit, Refuse, SloClasses, Wait, checked_limit
from relserve.policies.admission.scalability import SpeedSample
from relserve.policies.admission.variants import make
from tests.policies.admission.views import CURVE, request


def controller(name: str = "in_time", **options: object) -> AdmissionController:
    """A controller before an engine whose speeds are known."""
    samples = [SpeedSample(load, CURVE.speed(load)) for load in (1, 5, 20, 50, 100) for _ in range(10)]
    return AdmissionController(make(name), OnlineCurve(samples), **options)  # type: ignore[arg-type]


def test_it_admits_tells_an_estimate_and_starts_who_waited() -> None:
    its = controller("static-1")
    assert isinstance(its.offered(request("a", 100, 10), 0.0), Admit)
    second = its.offered(request("b", 100, 10), 0.0)
    assert isinstance(second, Wait)
    assert second.keeps_limit
    assert 1.0 <= second.estimate_s <= 3.0
    assert its.load == 1
    assert [r.request_id for r in its.done("a", 1.0, 100).started] == ["b"]
    assert its.waiting == ()


def test_past_its_deadline_and_only_then_a_request_is_refused() -> None:
    its = controller("static-1", late="error")
    its.offered(request("a", 100, 100), 0.0)
    its.offered(request("b", 100, 5), 0.0)
    assert its.poll(4.9).refused == ()
    ((refused, line),) = its.poll(5.0).refused
    assert refused.request_id == "b"
    assert line.reason == "its limit is over; it has waited 5 s"
    assert its.waiting == ()


def test_late_requests_run_last_where_that_is_wanted() -> None:
    its = controller()
    its.offered(request("a", 100, 1.2), 0.0)
    its.offered(request("b", 5000, 2), 0.0)
    its.done("a", 1.0, 100)
    started = [r.request_id for r in its.poll(60.0).started]
    assert started == ["b"] or its.load == 1


@pytest.mark.parametrize("limit_s", [0, -1, nan, "5", True, None])
def test_a_limit_is_a_positive_number(limit_s: object) -> None:
    with pytest.raises(OptionError, match="it must be a positive number of seconds"):
        checked_limit(limit_s)  # type: ignore[arg-type]


def test_an_absurd_limit_and_an_unknown_class_are_clear_errors() -> None:
    with pytest.raises(OptionError, match=r"the limit of the class 'x' is 1e\+09 s, more than a week"):
        SloClasses({"x": 1e9})
    classes = SloClasses({"fast": 0.5, "batch": inf})
    assert classes.limit_s("fast", 100) == 0.5
    with pytest.raises(OptionError, match="no class of limits 'quick'; there are: batch, fast"):
        classes.limit_s("quick", 1)


class TokenTimes(NamedTuple):
    ttft_s: float | None = None
    tpot_s: float | None = None


def test_limits_on_tokens_are_one_on_the_whole_request_where_both_are_given() -> None:
    classes = SloClasses(
        {"chat": TokenTimes(1.0, 0.05), "first": TokenTimes(ttft_s=1.0), "rest": TokenTimes(tpot_s=0.05)}
    )
    assert classes.limit_s("chat", 101) == 6.0
    assert classes.limit_s("first", 101) == classes.limit_s("rest", 101) == inf
    with pytest.raises(OptionError, match="the limit of the class 'x' is 0"):
        SloClasses({"x": TokenTimes(0.0, 0.05)})


def test_a_limit_below_what_one_step_takes_is_told_and_blocks_nobody() -> None:
    its = controller()
    for i in range(20):
        its.offered(request(f"r{i}", 660, 12), 0.0)
    told = its.offered(request("absurd", 100, 1e-6), 0.0)
    if isinstance(told, Wait):
        assert not told.keeps_limit
        assert "cannot be kept: it takes" in told.reason
    assert isinstance(its.offered(request("small", 1, 5), 0.0), Admit)


@pytest.mark.parametrize("tokens", [0, -1, nan, inf])
def test_lengths_that_are_none_are_refused(tokens: float) -> None:
    assert isinstance(controller().offered(request("a", tokens, 5, kind="k"), 0.0), Refuse)


def test_what_is_over_before_it_begins_is_refused_where_late_is_an_error() -> None:
    over = request("a", 5, 1)
    assert controller(late="error").offered(over, 2.0) == Refuse("its limit is over before it begins", True)
    assert isinstance(controller().offered(over._replace(deadline_s=nan), 2.0), Refuse)


def test_what_is_over_before_it_begins_runs_last_where_that_is_wanted() -> None:
    its = controller("static-1")
    its.offered(request("r", 100, 10), 0.0)
    told = its.offered(request("a", 5, 1), 2.0)
    assert isinstance(told, Wait)
    assert not told.keeps_limit
    assert [each.request_id for each in its.done("r", 3.0, 100).started] == ["a"]


def test_an_id_comes_once() -> None:
    its = controller()
    its.offered(request("a"), 0.0)
    with pytest.raises(ValueError, match="'a' is there already"):
        its.offered(request("a"), 0.0)


def test_cancelled_requests_are_forgotten() -> None:
    its = controller("static-1")
    its.offered(request("a"), 0.0)
    its.offered(request("b"), 0.0)
    its.gone("b", 0.1)
    its.gone("nobody", 0.1)
    assert its.waiting == ()
    its.gone("a", 0.2)
    assert its.load == 0


def test_progress_teaches_the_speed() -> None:
    its = AdmissionController(make("static-100"))
    for i in range(10):
        its.offered(request(f"r{i}", 1000, inf), 0.0)
    for step in range(1, 40):
        its.progress({f"r{i}": 60.0 * step * 0.25 for i in range(10)}, step * 0.25)
    assert its.curve.curve is not None
    assert its.curve.curve.speed(10) == pytest.approx(60, rel=0.01)


def test_without_progress_whole_requests_teach_it() -> None:
    its = AdmissionController(make("in_time"))
    for i in range(6):
        assert isinstance(its.offered(request(f"r{i}", 100, inf), 2.0 * i), Admit)
        its.done(f"r{i}", 2.0 * i + 2, 100)
    assert its.curve.curve is not None
    assert its.curve.curve.speed(1) == pytest.approx(50, rel=0.01)


def test_it_learns_how_much_a_class_takes() -> None:
    its = controller()
    for i in range(60):
        its.offered(request(f"r{i}", 100, 100, arrival_s=10.0 * i, kind="k"), 10.0 * i)
        its.progress({f"r{i}": 1}, 10.0 * i + 1.01)  # its prompt took a second
        its.progress({f"r{i}": 99}, 10.0 * i + 1.99)
        its.done(f"r{i}", 10.0 * i + 2.0, 100)  # two seconds alone are 200 tokens' worth
    assert its.learnt["k"].work_per_token == pytest.approx(2.0, rel=0.05)
    assert its.learnt["k"].spread < 0.2


def test_under_a_promise_loads_that_were_never_seen_are_tried_slowly() -> None:
    its = AdmissionController(make("in_time"), promise=Promise())
    for i in range(200):
        its.offered(request(f"r{i}", 100, inf), 0.0)
    assert its.load == BLIND
    loads = []
    for step in range(1, 40):
        its.progress({f"r{i}": 10.0 * step for i in range(its.load)}, step * 0.25)
        its.poll(step * 0.25)
        loads.append(its.load)
    assert loads[5] < 50
    assert loads[-1] > 60


def test_what_began_before_a_speed_was_known_tells_of_no_work() -> None:
    its = AdmissionController(make("static-9"))
    its.offered(request("early", 100, 60, kind="k"), 0.0)
    for step in range(1, 6):
        its.progress({"early": 18.0 * step}, step * 0.25)
    assert its.curve.curve is not None
    its.offered(request("later", 100, 60, arrival_s=1.25, kind="k"), 1.25)
    its.done("early", 1.3, 100)
    assert its.learnt["k"].work == 0
    its.done("later", 3.0, 100)
    assert its.learnt["k"].work > 0


@pytest.mark.parametrize(("after_s", "is_late"), [(9.995, True), (10.5, True), (4.0, False)])
def test_what_is_given_up_at_its_deadline_was_late_and_what_is_cancelled_before_was_not(
    after_s: float, is_late: bool
) -> None:
    its = controller(promise=Promise())
    for number in range(20):
        its.offered(request(f"r{number}", 100, 10, 20.0 * number, kind="k"), 20.0 * number)
        its.gone(f"r{number}", 20.0 * number + after_s)
    assert its.promise is not None
    assert (its.promise._all.num > 0) == is_late


@pytest.mark.parametrize("promised", [True, False])
def test_under_a_promise_nobody_looks_for_a_static_limit_among_all_samples(
    promised: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = list[int]()
    monkeypatch.setattr("relserve.policies.admission.controller.best_limit", lambda *_: looked.append(1) or 1)
    its = AdmissionController(make("in_time"), OnlineCurve(), promise=Promise() if promised else None)
    for number in range(40):  # a curve that tells nothing
        its.curve.add(SpeedSample(1 + number % 7, 10.0 if number % 2 else 300.0))
    assert its.curve.is_poor
    its.offered(request("r", 100, 10), 0.0)
    assert bool(looked) == (not promised)


def test_shares_decide_between_users() -> None:
    its = controller("static-1", shares=Shares())
    its.offered(request("a0", user="a"), 0.0)
    for i in range(1, 30):
        its.offered(request(f"a{i}", user="a"), 0.0)
    its.offered(request("b0", user="b"), 0.0)
    assert [r.request_id for r in its.done("a0", 1.0, 100).started] == ["b0"]


@settings(max_examples=40)
@given(st.data(), st.sampled_from(["in_time", "saber", "static-3"]), st.sampled_from(["last", "error"]))
def test_everybody_starts_or_is_refused_once(data: st.DataObject, name: str, late: str) -> None:
    has_shares = name != "saber" and data.draw(st.booleans())
    its = controller(name, late=late, shares=Shares() if has_shares else None)
    now_s, started, refused, running, offered = 0.0, [], [], [], 0
    for i in range(data.draw(st.integers(1, 25))):
        now_s += data.draw(st.floats(0, 3))
        limit_s = data.draw(st.floats(0.01, 30))
        user = data.draw(st.sampled_from("ab"))
        told = its.offered(request(f"r{i}", data.draw(st.floats(1, 500)), limit_s, now_s, "k", user), now_s)
        offered += 1
        assert isinstance(told, (Admit, Wait))
        if isinstance(told, Admit):
            started.append(f"r{i}")
            running.append(f"r{i}")
        else:
            assert 0 <= told.estimate_s < inf
        turns = [its.poll(now_s)]
        if running and data.draw(st.booleans()):
            turns.append(its.done(running.pop(0), now_s, 50))
        for turn in turns:
            started += [r.request_id for r in turn.started]
            running += [r.request_id for r in turn.started]
            refused += [r.request_id for r, _ in turn.refused]
    for _ in range(500):
        if not running and not its.waiting:
            break
        now_s += 1.0
        turn = its.done(running.pop(0), now_s, 50) if running else its.poll(now_s)
        started += [r.request_id for r in turn.started]
        running += [r.request_id for r in turn.started]
        refused += [r.request_id for r, _ in turn.refused]
    assert sorted(started + refused) == sorted(f"r{i}" for i in range(offered))
    assert late == "error" or not refused
