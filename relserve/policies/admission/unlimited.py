"""Requests without a limit beside those that have one: they start where that makes few of these late.

All of them together may cost those with limits `COSTS` of what would be in time without them. One at a time
runs in any case, and where nobody has a limit, and lately nobody had, all may.
"""

from __future__ import annotations

from math import inf

import numpy as np

from relserve.policies.admission.forecast import below, chance_below, forecast, in_time
from relserve.policies.admission.policy import LEAST_LEFT, AdmissionView
from relserve.policies.admission.request import AdmissionRequest
from relserve.policies.admission.scalability import Array

COSTS = 0.03
RARE_PER_S = 1e-3  # requests of a class that comes so seldom are not waited for


def nobody_has_a_limit(view: AdmissionView) -> bool:
    """Whether there is nothing to keep."""
    if any(k.per_s > RARE_PER_S and 0 < k.limit_s < inf for k in view.learnt.values()):
        return False
    requests = [*view.waiting, *(running.request for running in view.running)]
    return all(request.deadline_s == inf for request in requests)


def may_start(view: AdmissionView, request: AdmissionRequest, speeds: Array) -> bool:
    """Whether a request without a limit may."""
    if not any(running.request.deadline_s == inf for running in view.running):
        return True
    limited = [running for running in view.running if running.request.deadline_s < inf]
    together = [_remaining(view, r.request, view.attained(r)) for r in view.running] + [view.work(request)]
    last = len(speeds) - 1
    without = _coming(view, float(speeds[min(len(limited) + 1, last)]))
    if _coming(view, float(speeds[min(len(together) + 1, last)])) < (1.0 - COSTS) * without:
        return False
    if not limited:
        return True
    alone = [_remaining(view, r.request, view.attained(r)) for r in limited]
    rows = np.array([
        (view.work(other), view.attained(r), other.deadline_s - view.now_s, view.spread(other))
        for r in limited for other in [r.request]
    ])  # fmt: skip
    middle, attained, slack_s, spread = rows.T
    before = below(attained, middle, spread)
    most, least = [
        float(in_time(attained, forecast(np.sort(each), speeds).got(slack_s), middle, spread, before).sum())
        for each in (np.array(alone), np.array(together))
    ]
    return least >= (1.0 - COSTS) * most


def _remaining(view: AdmissionView, request: AdmissionRequest, attained: float) -> float:
    work = view.work(request)
    return max(work - attained, LEAST_LEFT * work)


def _coming(view: AdmissionView, speed: float) -> float:
    """Requests a second, of those with limits that probably come, that would be in time at a speed."""
    return sum(
        k.per_s * chance_below(k.limit_s * speed, k.work, k.spread)
        for k in view.learnt.values()
        if k.per_s > RARE_PER_S and k.work and 0 < k.limit_s < inf
    )
