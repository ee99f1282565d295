"""Who may start under a promise: who would be in time, and makes nobody late who runs."""

from __future__ import annotations

from math import inf

from relserve.policies.admission.in_time import InTimeAdmission
from relserve.policies.admission.kept import Keeping
from relserve.policies.admission.policy import AdmissionView
from relserve.policies.admission.promise import Promise
from tests.policies.admission.views import CURVE, request, running, view

OURS = InTimeAdmission("in_time")


def promised(*inside: float, limit_s: float = 3.0, now_s: float = 0.0, tokens: float = 100) -> AdmissionView:
    """Requests of 100 tokens run that have these limits, and one waits."""
    its = [running(str(i), 100, each) for i, each in enumerate(inside)]
    waiting = [request("new", tokens, limit_s + now_s)]
    promise = Promise()
    promise.proved(100)
    return view(waiting, its, now_s)._replace(promise=promise)


def may_start(its: AdmissionView) -> bool:
    return Keeping(its).may_start(its.waiting[0])


def test_one_starts_that_will_be_in_time_at_the_speed_of_all() -> None:
    """Nothing is known, so everything may take one and a half times as long, and a little is held back."""
    assert may_start(promised(*[60.0] * 20, limit_s=3.0))  # 100 tokens at 66 a second: 1.5 s, stretched 2.3 s
    assert not may_start(promised(*[60.0] * 20, limit_s=2.2))
    assert not may_start(promised(*[60.0] * 60, limit_s=3.0))


def test_one_does_not_start_that_makes_others_late() -> None:
    speed = CURVE.speed(21)
    limit_s = 100 * 1.5 / speed / 0.95
    assert may_start(promised(*[limit_s * 1.001] * 20, limit_s=60.0))
    assert not may_start(promised(*[limit_s * 0.999] * 20, limit_s=60.0))


def test_those_that_are_lost_hold_up_nobody() -> None:
    assert may_start(promised(*[0.5] * 20, limit_s=60.0))
    assert may_start(promised(*[5.0] * 20, limit_s=60.0, now_s=6.0))


def test_those_without_a_limit_need_no_speed_but_may_make_nobody_late() -> None:
    assert may_start(promised(*[inf] * 20, limit_s=inf))
    limit_s = 100 * 1.5 / CURVE.speed(20.5) / 0.95
    assert not may_start(promised(*[limit_s] * 20, limit_s=inf))


def test_more_than_have_kept_their_limits_are_tried_slowly() -> None:
    its = promised(*[60.0] * 20, limit_s=60.0)._replace(promise=Promise())
    assert its.promise is not None
    assert not may_start(its)
    its.promise.proved(9)
    assert not may_start(its)
    its.promise.proved(11)
    assert may_start(its)


def test_without_a_promise_the_policy_is_what_it_was() -> None:
    its = promised(*[60.0] * 60)
    assert OURS.choose(its).request is None
    assert OURS.choose(its._replace(promise=None)).request is not None


def test_one_that_cannot_be_in_time_runs_alone_or_not_at_all() -> None:
    assert OURS.choose(promised(limit_s=0.1)).late
    assert OURS.choose(promised(60.0, limit_s=0.1)).request is None
