"""Views for tests: requests that wait and run on an engine whose curve is known."""

from __future__ import annotations

from collections.abc import Sequence

from relserve.policies.admission.policy import AdmissionView, Learnt, RunningRequest
from relserve.policies.admission.request import AdmissionRequest
from relserve.policies.admission.scalability import Fit

CURVE = Fit("usl", (100.0, 0.02, 1e-4), 0.99, 1000)  # 100 alone, 67 at 20, 49 at 35, 24 at 100
SLOW = Learnt(spread=0.05)


def request(
    name: str, tokens: float = 100, limit_s: float = 10, arrival_s: float = 0, kind: str = "", user: str = "u"
) -> AdmissionRequest:
    """A request of a class of its own size, unless one is named."""
    return AdmissionRequest(name, kind or f"of {tokens:g}", user, arrival_s, arrival_s + limit_s, tokens)


def running(name: str, tokens: float = 100, limit_s: float = 10, needed_speed: float = 0) -> RunningRequest:
    """One that has just started at time 0."""
    return RunningRequest(request(name, tokens, limit_s), 0.0, needed_speed)


def view(
    waiting: Sequence[AdmissionRequest],
    inside: Sequence[RunningRequest] = (),
    now_s: float = 0,
    poor: bool = False,
) -> AdmissionView:
    """Lengths are known well."""
    learnt = {each.slo_class: SLOW for each in [*waiting, *(r.request for r in inside)]}
    return AdmissionView(now_s, waiting, inside, CURVE, poor, 3, learnt)
