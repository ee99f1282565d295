"""Ours: a request starts if that makes the number of requests to be expected in time larger.

What differs from SABER's Algorithm 1. (1) A forecast in place of one speed: those that run end one after
another and the others get faster; who has attained much is not held to the speed needed at its start. (2)
Chances in place of yes and no: lengths vary about what is expected, so each request is in time with a chance,
and starts if its own is more than what it takes from those that run and from those that will probably come
while it runs. (3) The least work first: for the place that it takes it ends the most requests in time. (4)
Hopeless requests block nobody: they run where they take little from others, and one at a time at least. (5)
Where the curve tells little, first come, first served up to the static limit that measured speeds allow. (6)
Requests without a limit start where they make few of those that have one late: all of them together may cost
3 % of what would be in time without them. One at a time runs in any case; where nobody has a limit, and
lately nobody had, all may. (7) Where it is promised that those who start are in time, who would probably not
be, or would make others late, does not start.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from relserve.policies.admission.forecast import below, chance_below, forecast, in_time
from relserve.policies.admission.kept import Keeping
from relserve.policies.admission.policy import LEAST_LEFT, AdmissionChoice, AdmissionView
from relserve.policies.admission.request import AdmissionRequest
from relserve.policies.admission.scalability import Array

HOPELESS = 0.05  # a chance to be in time alone on the engine; below it a request is hopeless
LATE_COSTS = 0.2  # expected goodput that a hopeless request may take from others
LOOKED_AT = 3  # requests of a group, those with the earliest deadlines
_UNLIMITED_COST = 0.03  # share of what would be in time else that all requests without a limit may make late
_RARE_PER_S = 1e-3  # requests of a class that comes so seldom are not waited for


class InTimeAdmission:
    """See the module."""

    def __init__(self, name: str) -> None:
        self.name, self.every_s = name, 0.0

    def choose(self, view: AdmissionView) -> AdmissionChoice:
        """See `AdmissionPolicy.choose`."""
        if not view.waiting:
            return AdmissionChoice(None, "nobody waits")
        if _nobody_has_a_limit(view):
            return AdmissionChoice(view.waiting[0], "nobody has a limit")
        keeping = Keeping(view)
        if view.promise is None and (view.curve is None or view.is_poor):
            return _static(view)
        if view.curve is None:
            return AdmissionChoice(view.waiting[0], "no speed is known yet")
        free = next((request for request in view.waiting if request.deadline_s == inf), None)
        limited = [request for request in view.waiting if request.deadline_s < inf]
        found = self._limited(view, limited, keeping)
        if found.request is None and free is not None:
            if _unlimited_may_start(view, free, view.curve.table) and keeping.may_start(free):
                return AdmissionChoice(free, "it has no limit: others lose little by it")
            return AdmissionChoice(None, "without a limit it waits for those that have one")
        return found

    def _limited(
        self, view: AdmissionView, waiting: Sequence[AdmissionRequest], keeping: Keeping
    ) -> AdmissionChoice:
        """Who starts of those that have a limit."""
        assert view.curve is not None
        if not waiting:
            return AdmissionChoice(None, "nobody waits")
        state = _State(view, view.curve.table)
        hopeless = []
        for requests in _by_group(view, waiting):
            able = [request for request in requests if state.alone(request) >= HOPELESS]
            hopeless += requests[: len(requests) - len(able)]
            for request in able[:LOOKED_AT]:
                if not keeping.may_start(request):
                    continue
                own, taken = state.start(request)
                if own > taken:
                    return AdmissionChoice(request, "more are in time with it")
        if view.promise is None:
            return self._late(view, state, hopeless)
        if keeping.is_idle:
            return AdmissionChoice(min(waiting, key=view.work), "late: one at least at a time", late=True)
        return AdmissionChoice(None, "it or others would be late")

    def _late(self, view: AdmissionView, state: _State, hopeless: list[AdmissionRequest]) -> AdmissionChoice:
        if not hopeless:
            return AdmissionChoice(None, "fewer would be in time")
        request = min(hopeless, key=lambda each: (view.work(each), each.arrival_s))
        if not any(running.request.deadline_s <= view.now_s for running in view.running):
            return AdmissionChoice(request, "late: one at least at a time", late=True)
        if state.start(request)[1] <= LATE_COSTS:
            return AdmissionChoice(request, "late: others lose little by it", late=True)
        return AdmissionChoice(None, "late: others would lose by it")


def _static(view: AdmissionView) -> AdmissionChoice:
    """First come, first served within the fallback's limit, those past their deadline last."""
    if len(view.running) >= view.fallback:
        return AdmissionChoice(None, "the fallback's limit")
    able = [request for request in view.waiting if request.deadline_s > view.now_s]
    request = (able or view.waiting)[0]
    return AdmissionChoice(request, "the curve is poor: a place under the fallback's limit", late=not able)


class _State:
    """Those that run, by work left, and the chance of each to be in time if nobody starts."""

    def __init__(self, view: AdmissionView, speeds: Array) -> None:
        self._view, self._speeds = view, speeds
        rows = np.array([
            (view.work(request), view.attained(r), request.deadline_s - view.now_s, view.spread(request))
            for r in view.running for request in [r.request]
        ]).reshape(-1, 4)  # fmt: skip
        remaining = np.maximum(rows[:, 0] - rows[:, 1], LEAST_LEFT * rows[:, 0])
        order = np.argsort(remaining, kind="stable")
        self._remaining = remaining[order]
        self._middle, self._attained, self._slack_s, self._spread = rows[order].T
        self._before = below(self._attained, self._middle, self._spread)
        self._alone = float(speeds[1])
        self._coming: list[tuple[float, float]] | None = None
        self._chance = float(self._chances(self._remaining).sum())

    def alone(self, request: AdmissionRequest) -> float:
        """The chance of a request to be in time if it had the engine to itself from now on."""
        remaining_s = request.deadline_s - self._view.now_s
        if remaining_s <= 0:
            return 0.0
        most = self._alone * remaining_s
        return chance_below(most, self._view.work(request), self._view.spread(request))

    def start(self, request: AdmissionRequest) -> tuple[float, float]:
        """A request's chance to be in time if it starts now, and what it takes from all others' chances."""
        work, remaining_s = self._view.work(request), request.deadline_s - self._view.now_s
        at = int(self._remaining.searchsorted(work, side="right"))
        together = np.concatenate([self._remaining[:at], [work], self._remaining[at:]])
        got = forecast(together, self._speeds)
        more = got.got(np.concatenate([self._slack_s, [remaining_s]]))
        own = chance_below(float(more[-1]), work, self._view.spread(request)) if remaining_s > 0 else 0.0
        with_it = in_time(self._attained, more[:-1], self._middle, self._spread, self._before)
        taken = self._chance - float(with_it.sum())
        taken += float(got.end_s[at]) * self._from_coming(work)
        return own, taken

    def _from_coming(self, work: float) -> float:
        """What one more takes in a second from those with less work that probably come, by the load now."""
        if self._coming is None:
            view, number, last = self._view, len(self._remaining) + 1, len(self._speeds) - 1
            faster, slower = (float(self._speeds[min(load, last)]) for load in (number, number + 1))
            self._coming = [
                (k.work, view.unseen * k.per_s * (chance_below(k.limit_s * faster, k.work, k.spread)
                                    - chance_below(k.limit_s * slower, k.work, k.spread)))
                for k in view.learnt.values() if k.per_s and k.work and 0 < k.limit_s < inf
            ]  # fmt: skip
        return sum([loss for coming_work, loss in self._coming if coming_work < work])

    def _chances(self, remaining: Array) -> Array:
        if not len(remaining):
            return remaining
        more = forecast(remaining, self._speeds).got(self._slack_s)
        return in_time(self._attained, more, self._middle, self._spread, self._before)


def _by_group(view: AdmissionView, waiting: Sequence[AdmissionRequest]) -> list[list[AdmissionRequest]]:
    """Those that wait by group, that with the least work first; of each by deadline."""
    groups: dict[str, list[AdmissionRequest]] = {}
    for request in waiting:
        groups.setdefault(request.group, []).append(request)
    by_work = sorted(groups.values(), key=lambda each: min(map(view.work, each)))
    return [sorted(each, key=lambda request: request.deadline_s) for each in by_work]


def _nobody_has_a_limit(view: AdmissionView) -> bool:
    """Whether there is nothing to keep."""
    if any(k.per_s > _RARE_PER_S and 0 < k.limit_s < inf for k in view.learnt.values()):
        return False
    requests = [*view.waiting, *(running.request for running in view.running)]
    return all(request.deadline_s == inf for request in requests)


def _unlimited_may_start(view: AdmissionView, request: AdmissionRequest, speeds: Array) -> bool:
    """Whether a request without a limit may; one at a time may in any case."""
    if not any(running.request.deadline_s == inf for running in view.running):
        return True
    limited = [running for running in view.running if running.request.deadline_s < inf]
    together = [_remaining(view, r.request, view.attained(r)) for r in view.running] + [view.work(request)]
    last = len(speeds) - 1
    without = _coming(view, float(speeds[min(len(limited) + 1, last)]))
    if _coming(view, float(speeds[min(len(together) + 1, last)])) < (1.0 - _UNLIMITED_COST) * without:
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
    return least >= (1.0 - _UNLIMITED_COST) * most


def _remaining(view: AdmissionView, request: AdmissionRequest, attained: float) -> float:
    work = view.work(request)
    return max(work - attained, LEAST_LEFT * work)


def _coming(view: AdmissionView, speed: float) -> float:
    """Requests a second, of those with limits that probably come, that would be in time at a speed."""
    return sum(
        k.per_s * chance_below(k.limit_s * speed, k.work, k.spread)
        for k in view.learnt.values()
        if k.per_s > _RARE_PER_S and k.work and 0 < k.limit_s < inf
    )
