"""Whether one more may start, so that it and those that run keep their limits, as was promised."""

from __future__ import annotations

from math import inf

from relserve.policies.admission.policy import LEAST_LEFT, AdmissionView
from relserve.policies.admission.request import AdmissionRequest

RESERVE = 0.05  # of a limit, for what comes before and after the gate


class Keeping:
    """One look at those that run. Speeds are taken to stay as they are with it: others will come."""

    def __init__(self, view: AdmissionView) -> None:
        self._view = view
        self._limited = [r for r in view.running if view.now_s < r.request.deadline_s < inf]
        self._needed: list[float] | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nobody runs who could keep a limit."""
        return not self._limited

    def may_start(self, request: AdmissionRequest) -> bool:
        """Whether a request may, as far as promises go."""
        view = self._view
        if view.promise is None or view.curve is None:
            return True
        load = len(view.running)
        speed = view.curve.speed(load + 1)
        if request.deadline_s < inf and len(self._limited) >= view.promise.most:
            return False
        if needed_speed(view, request) > speed:
            return False
        if not self._limited:
            return True
        if self._needed is None:
            alone = view.curve.speed(1)
            all_needed = [needed_speed(view, r.request, view.attained(r)) for r in self._limited]
            self._needed = [needed for needed in all_needed if needed <= alone]  # others are lost
        missed = sum([needed > speed for needed in self._needed])
        if missed <= (1.0 - view.promise.kept) * len(self._limited):
            return True
        before = view.curve.speed(max(load, 1))
        return missed <= sum([needed > before for needed in self._needed])


def needed_speed(view: AdmissionView, request: AdmissionRequest, attained: float = 0.0) -> float:
    """Tokens a second that a request needs until its end to be in time, all that is unforeseen counted in."""
    assert view.promise is not None
    if request.deadline_s == inf:
        return 0.0
    remaining_s = latest_s(request.arrival_s, request.deadline_s) - view.now_s
    if remaining_s <= 0:
        return inf
    work = view.work(request)
    remaining = max(work - attained, LEAST_LEFT * work)
    return view.promise.stretch(request.group) * remaining / remaining_s


def latest_s(arrival_s: float, deadline_s: float) -> float:
    """When a request has to leave the engine so that it is in time where it was asked."""
    return deadline_s - RESERVE * (deadline_s - arrival_s)
