"""One engine's admission controller: who waits, who runs, what is learnt of speeds and classes. No clock.

An engine, `relserve serve` or a gateway calls `offered` for a request that comes, `progress` now and then
with the tokens that are generated so far, `poll` to learn who starts, and `done` for one that has ended.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import inf, log, sqrt
from statistics import median
from typing import Literal

from relserve.policies.admission.arrivals import ArrivalRates
from relserve.policies.admission.fair import Presence, Shares
from relserve.policies.admission.kept import needed_speed
from relserve.policies.admission.online import OnlineCurve
from relserve.policies.admission.policy import (
    AdmissionChoice,
    AdmissionPolicy,
    AdmissionView,
    Learnt,
    RunningRequest,
)
from relserve.policies.admission.promise import Promise
from relserve.policies.admission.request import AdmissionRequest, AdmissionTurn, Admit, Decision, Refuse, Wait
from relserve.policies.admission.scalability import SpeedSample
from relserve.policies.admission.static import best_limit

SAMPLE_S = 0.2  # between two measured speeds, at least; `SAMPLE_TOKENS` have to be generated, too
SAMPLE_TOKENS, LONGEST_SAMPLE_S = 5.0, 1.0  # by half of those that run, or else so long
BLIND_S = 1.0  # without one, whole requests tell the speed
RENEWS = 0.05  # weight of the newest in what is learnt of a group
MOST_GROUPS = 1000
UNSEEN, BLIND = 1.5, 4  # under a promise so many times the highest load measured; at first so many
CLOCK_S = 0.01  # by which whoever gives up at a deadline may be early by the controller's clock
LEAST_SPREAD = 0.05


class AdmissionController:
    """One engine's admission.

    Args:
        policy: decides.
        curve: the speeds by load, measured before or from nothing.
        late: what becomes of a request whose deadline is over: it runs last, or is an error.
        shares: fair shares between users, of whom the policy is shown one after another; None: all are alike.
        fallback: the static limit where the curve is poor; None: what measured speeds allow.
        most: places in the engine, where more would only wait inside it; None: as many as may start.
        promise: that those who start will be in time; None: as many as can be.

    Attributes:
        most: as the argument.
        reasons: how often each was a policy's; `reason`: the latest for nobody to start.
        learnt: of each group of requests; `typical`: of all.
    """

    def __init__(
        self,
        policy: AdmissionPolicy,
        curve: OnlineCurve | None = None,
        late: Literal["last", "error"] = "last",
        shares: Shares | None = None,
        fallback: int | None = None,
        most: int | None = None,
        promise: Promise | None = None,
    ) -> None:
        self.policy, self.curve = policy, OnlineCurve() if curve is None else curve
        self.late, self.shares, self._fallback = late, shares, fallback
        self.most, self.promise = most, promise
        self.reason = ""
        self.reasons: Counter[str] = Counter()
        self.learnt: dict[str, Learnt] = {}
        self.typical = Learnt()
        self._presence = Presence(shares or Shares())  # of requests without a limit
        self._waiting: dict[str, AdmissionRequest] = {}
        self._inside: dict[str, RunningRequest] = {}
        self._ready: list[AdmissionRequest] = []
        self._served = self._load_s = 0.0  # tokens that each inside has got; requests times seconds
        self._now_s: float | None = None
        self._arrivals = ArrivalRates()
        self._known_s = inf if self.curve.curve is None else -inf  # since when there is a curve
        self._sampled_s: float | None = None
        self._blind_s = -inf  # when a whole request last told a speed
        self._mark: tuple[float, float, dict[str, float]] | None = None

    @property
    def waiting(self) -> tuple[AdmissionRequest, ...]:
        """Those that wait, in order of arrival."""
        return tuple(self._waiting.values())

    @property
    def load(self) -> int:
        """How many run."""
        return len(self._inside)

    def offered(self, request: AdmissionRequest, now_s: float) -> Decision:
        """A request comes: it starts, waits, or is refused, for its deadline has passed or makes no sense.

        Others that start at the same moment are given by the next `poll`.

        Raises:
            ValueError: a request of that id is there already.
        """
        if request.request_id in self._waiting or request.request_id in self._inside:
            raise ValueError(f"the request {request.request_id!r} is there already")
        if not request.tokens > 0 or request.tokens == inf:
            return Refuse(f"it expects {request.tokens} tokens; that must be a positive number")
        if request.deadline_s != request.deadline_s or (self.late == "error" and request.deadline_s <= now_s):
            return Refuse("its limit is over before it begins", is_over=True)
        self._pass(now_s)
        self._comes(request)
        self._waiting[request.request_id] = request
        reason = self._admit(now_s)
        if request.request_id in self._inside:
            self._ready = [ready for ready in self._ready if ready.request_id != request.request_id]
            return Admit(reason)
        estimate_s = self.estimate_s(request, now_s)
        keeps = now_s + estimate_s <= request.deadline_s
        return Wait(estimate_s, keeps, self._line(request, now_s, estimate_s, keeps))

    def poll(self, now_s: float) -> AdmissionTurn:
        """Who starts now, with those that started since the last poll; and who is refused."""
        self._pass(now_s)
        refused = []
        if self.late == "error":
            over = [request for request in self._waiting.values() if request.deadline_s <= now_s]
            for request in over:
                del self._waiting[request.request_id]
                waited_s = now_s - request.arrival_s
                refused.append((request, Refuse(f"its limit is over; it has waited {waited_s:.3g} s")))
        self._admit(now_s)
        started, self._ready = tuple(self._ready), []
        return AdmissionTurn(started, tuple(refused))

    def progress(self, output_tokens: Mapping[str, float], now_s: float) -> None:
        """Tokens that those inside have generated; from two of these a speed is measured."""
        self._pass(now_s)
        for request_id, tokens in output_tokens.items():
            if request_id in self._inside:
                self._inside[request_id].num_output_tokens = tokens
        if self._mark is None:
            self._mark = (now_s, self._load_s, dict(output_tokens))
        elif now_s - self._mark[0] >= SAMPLE_S:
            then_s, load_s, before = self._mark
            passed_s = now_s - then_s
            grown = [output_tokens[x] - n for x, n in before.items() if n > 0 and x in output_tokens]
            if grown and median(grown) < SAMPLE_TOKENS and passed_s < LONGEST_SAMPLE_S:
                return  # tokens are whole: few of them tell little
            if grown and min(grown) > 0:
                self.curve.add(SpeedSample((self._load_s - load_s) / passed_s, median(grown) / passed_s))
                self._sampled_s = now_s
            self._mark = (now_s, self._load_s, dict(output_tokens))

    def done(self, request_id: str, now_s: float, tokens: float) -> AdmissionTurn:
        """A request has ended, having generated so many tokens; who starts in its place.

        Raises:
            KeyError: it does not run.
        """
        self._pass(now_s)
        inside = self._inside.pop(request_id)
        self._ended(inside.request, tokens, now_s)
        request, passed_s = inside.request, now_s - inside.admitted_s
        if self._mark is not None:
            self._mark[2].pop(request_id, None)
        is_blind = self._sampled_s is None or now_s - self._sampled_s > BLIND_S
        if is_blind and passed_s > 0 and tokens > 0 and now_s - self._blind_s >= SAMPLE_S / 4:
            self._blind_s = now_s
            self.curve.add(SpeedSample((self._load_s - inside.load_s) / passed_s, tokens / passed_s))
        work = self._served - inside.began if inside.admitted_s >= self._known_s else 0.0
        if work > 0:
            self.learn(request, work)
        if self.promise is not None:
            self.promise.ended(request_id, self._served - inside.began, now_s)
            if now_s <= request.deadline_s < inf:
                self.promise.proved(1 + sum([r.request.deadline_s < inf for r in self._inside.values()]))
        return self.poll(now_s)._replace(work=work)

    def gone(self, request_id: str, now_s: float, tokens: float = 0.0) -> None:
        """A request was cancelled, wherever it is; one that ran had generated so many tokens.

        Unknown ones are none of the controller's business.
        """
        self._pass(now_s)
        self._waiting.pop(request_id, None)
        inside = self._inside.pop(request_id, None)
        if self._mark is not None:
            self._mark[2].pop(request_id, None)
        if inside is not None:
            self._ended(inside.request, tokens, now_s)
            if self.promise is not None:
                is_cut = now_s + CLOCK_S >= inside.request.deadline_s
                self.promise.ended(request_id, (self._served - inside.began) * is_cut, now_s, is_cut)
        self._ready = [request for request in self._ready if request.request_id != request_id]

    def learn(self, request: AdmissionRequest, work: float) -> None:
        """A request of this group took so much, in tokens of an answer; a promise takes those as told."""
        for known in (self._known(request), self.typical):
            self._learn(known, request, work)

    def _learn(self, known: Learnt, request: AdmissionRequest, work: float) -> None:
        found = min(max(work / request.tokens, 1e-3), 1e3) if self.promise is None else 1.0
        weight = RENEWS if known.work else 1.0
        known.work_per_token += weight * (found - known.work_per_token)
        off = log(found / known.work_per_token)
        known.spread = max(sqrt(known.spread**2 * (1 - RENEWS) + off * off * RENEWS), LEAST_SPREAD)
        known.work += weight * (work - known.work)

    def estimate_s(self, request: AdmissionRequest, now_s: float) -> float:
        """Seconds until a request that waits has probably ended: those before it, then itself."""
        if (curve := self.curve.curve) is None:
            return 0.0
        view = self._view(now_s)
        own = view.work(request)
        inside = sum([max(view.work(r.request) - view.attained(r), 0.0) for r in view.running])
        before = sum([work for r in view.waiting if r is not request and (work := view.work(r)) <= own])
        load = max(len(view.running), 1)
        speed = curve.speed(load)
        return float((before + inside * before / (inside + before + own)) / (speed * load) + own / speed)

    def seconds(self, tokens: float, group: str, load: int) -> float | None:
        """How long a request of a group takes among so many; None where nothing is measured yet."""
        if (curve := self.curve.curve) is None:
            return None
        known = self.learnt.get(group, self.typical)
        return float(tokens * known.work_per_token / curve.speed(load))

    def _line(self, request: AdmissionRequest, now_s: float, estimate_s: float, keeps: bool) -> str:
        if keeps:
            return f"it waits, about {estimate_s:.3g} s to its end"
        limit_s, curve = max(request.deadline_s - now_s, 0.0), self.curve.curve
        alone_s = self._view(now_s).work(request) / curve.speed(1) if curve else 0.0
        if alone_s > limit_s:
            return f"its limit of {limit_s:.3g} s cannot be kept: it takes {alone_s:.3g} s on an idle engine"
        return f"its limit of {limit_s:.3g} s will probably be missed: about {estimate_s:.3g} s to its end"

    def _admit(self, now_s: float) -> str:
        """Ask the policy until nobody starts; its last reason for somebody, or else for nobody."""
        reason = ""
        while self._waiting:
            choice = self._choose(now_s)
            self.reasons[choice.reason] += 1
            if choice.request is None:
                self.reason = choice.reason
                return reason or choice.reason
            request, reason = self._waiting.pop(choice.request.request_id), choice.reason
            self._ready.append(request)
            needed = 0.0 if choice.late else request.needed_speed(now_s)
            self._inside[request.request_id] = RunningRequest(
                request, now_s, needed, self._served, self._load_s
            )
            if self.shares is not None:
                self.shares.took(request.user, request.tokens)
            if self.promise is not None and request.deadline_s == inf:
                self._presence.started(request.user)
            if self.promise is not None and self.curve.curve is not None:
                self.promise.started(request.request_id, request.group, self._view(now_s).work(request))
        return reason

    def _choose(self, now_s: float) -> AdmissionChoice:
        """The policy's choice; with shares, among those of the user who has got least, then the next."""
        if self.most is not None and self.load >= self.most:
            return AdmissionChoice(None, "every place is taken")
        if self.promise is not None and self.load >= max(UNSEEN * self.curve.highest_load, BLIND):
            return AdmissionChoice(None, "so many have not run at once yet")
        view = self._view(now_s)
        if self.shares is None:
            return self.policy.choose(view)
        choice, held_back = AdmissionChoice(None, "nobody waits"), self._held_back(view)
        for requests in self.shares.by_user(view.waiting):
            if requests[0].user in held_back:
                requests = [request for request in requests if request.deadline_s < inf]
            if requests:
                found = self.policy.choose(view._replace(waiting=requests))
            else:
                found = AdmissionChoice(None, "another user has fewer, who would be slowed down")
            if found.request is not None and not found.late:
                return found
            if choice.request is None:
                choice = found
        return choice

    def _held_back(self, view: AdmissionView) -> set[str]:
        """Users of whom nothing without a limit may start, as far as others' speeds go."""
        waiting = Counter([request.user for request in view.waiting if request.deadline_s == inf])
        if self.promise is None or view.curve is None or not waiting:
            return set()
        had = self._presence.had(view.now_s, waiting)
        spares = self._presence.spares
        return {user for user in waiting if not spares(user, self.load, view.curve, had)}

    def _ended(self, request: AdmissionRequest, tokens: float, now_s: float) -> None:
        """One that ran does no more."""
        if self.promise is not None and request.deadline_s == inf:
            self._presence.ended(request.user, now_s)
        if self.shares is not None:
            self.shares.ended(request.user, request.tokens, tokens)

    def could(self, request: AdmissionRequest, now_s: float) -> bool:
        """Whether a request would be in time if it started now, where that is promised."""
        if self.promise is None or (curve := self.curve.curve) is None:
            return True
        view = AdmissionView(now_s, (), (), curve, False, 1, self.learnt, promise=self.promise)
        return needed_speed(view, request) <= curve.speed(self.load + 1)

    def _view(self, now_s: float) -> AdmissionView:
        is_poor = self.curve.is_poor
        falls_back = is_poor and self.promise is None  # a limit is found among all samples, for each view
        return AdmissionView(
            now_s, self.waiting, list(self._inside.values()), self.curve.curve, is_poor,
            self._limit() if falls_back else 1, self.learnt, self._served, self._arrivals.unseen(now_s),
            self.promise,
        )  # fmt: skip

    def _limit(self) -> int:
        if self._fallback is not None:
            return self._fallback
        known = [k for k in self.learnt.values() if k.limit_s and k.work]
        needed = [k.work / k.work_per_token / k.limit_s for k in known]  # work is counted by the poor curve
        return best_limit(self.curve.measured, min(needed, default=0.0))

    def _comes(self, request: AdmissionRequest) -> None:
        known = self._known(request)
        self._arrivals.came(known, self._now_s or 0.0)
        known.limit_s = request.deadline_s - request.arrival_s

    def _known(self, request: AdmissionRequest) -> Learnt:
        if request.group not in self.learnt:
            while len(self.learnt) >= MOST_GROUPS:
                del self.learnt[min(self.learnt, key=lambda group: self.learnt[group].per_s)]
            typical = self.typical
            self.learnt[request.group] = Learnt(typical.work_per_token, typical.spread)
        return self.learnt[request.group]

    def _pass(self, now_s: float) -> None:
        """Time has passed: counters of tokens and load, and arrivals are forgotten."""
        passed_s = 0.0 if self._now_s is None else max(now_s - self._now_s, 0.0)
        self._now_s = now_s if self._now_s is None else max(now_s, self._now_s)
        if self.curve.curve is not None:
            self._known_s = min(self._known_s, now_s)
        if not passed_s:
            return
        if self.promise is not None:
            self.promise.passed(now_s)
        self._load_s += passed_s * self.load
        if self.load and self.curve.curve is not None:
            self._served += passed_s * self.curve.curve.speed(self.load)
        self._arrivals.passed(self.learnt.values(), passed_s)
