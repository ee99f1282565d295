"""Which requests the admission controller is offered, and which wait: a few of each user and class.

A controller looks at all that it was offered each time that somebody starts. So the rows of a relQuery come
to it in instalments, of one user and class at most `FRONT` at once; where the controller has no shares, so
that one queue has all, at most `FRONT` of each relQuery. No lock and no clock: `Gate` has them.
"""

from __future__ import annotations

import itertools
from collections import Counter
from heapq import heapify, heappop, heappush
from math import inf

from relserve.call.standing import Standing
from relserve.errors import AdmissionError
from relserve.gate.request_group import Permit, RequestGroup
from relserve.machine.gate_status import GateStatus, UserStatus
from relserve.policies.admission.controller import AdmissionController
from relserve.policies.admission.kept import latest_s
from relserve.policies.admission.request import AdmissionRequest, AdmissionTurn, Admit, Refuse
from relserve.policies.model.means import KeyedMeans

FRONT = 8  # requests of a user and class at the controller; policies look at fewer
MEMORY, LIKE_ALL = 20.0, 4  # answers in the mean of a kind, and of others where it is new
Group = list[tuple[float, int, RequestGroup]]  # a heap, by rank and arrival
Key = tuple[str, str] | RequestGroup


class AdmissionQueue:
    """All that wait and run.

    Attributes:
        lengths: tokens of answers, by kind, for requests that say only how many they may have.
        num_started, num_refused: so far.
    """

    def __init__(self, controller: AdmissionController) -> None:
        self.controller, self._prompts = controller, KeyedMeans(MEMORY)
        self.lengths = KeyedMeans(MEMORY, LIKE_ALL)
        self.num_started, self.num_refused = Counter[str](), Counter[str]()  # by user
        self._groups: dict[Key, Group] = {}
        self._fronts: Counter[Key] = Counter()
        self._aside: set[RequestGroup] = set()  # who would be late if they started now
        self._of: dict[str, RequestGroup] = {}  # of those at the controller and of those that run, by request
        self._numbers = itertools.count(1)

    @property
    def request_groups(self) -> set[RequestGroup]:
        """Those of whom rows wait."""
        behind = {each for group in self._groups.values() for _, _, each in group if each.num_left}
        return behind | self._aside | {each for each in self._of.values() if each.offered}

    @property
    def is_idle(self) -> bool:
        """Whether nobody waits or runs."""
        return not (self._of or self._aside or any(self._groups.values()))

    def come(self, request_group: RequestGroup, now_s: float) -> None:
        """A group wants to enter."""
        work_s = self._seconds(request_group.num_left * request_group.tokens)
        request_group.rank = request_group.arrival_s + (
            work_s or 0.0
        )  # a long one lets short ones by, but not for ever
        self._queue(request_group)
        self.settle(now_s)

    def leave(self, request_group: RequestGroup, now_s: float) -> None:
        """A group is gone, with all of its rows."""
        for request_id in [*request_group.offered, *request_group.permits]:
            permit = request_group.permits.pop(request_id, None)
            self._forget(request_id)
            self.controller.gone(request_id, now_s, permit.num_output_tokens if permit else 0.0)
        request_group.num_left = 0
        self._aside.discard(request_group)
        self._swept()
        self.settle(now_s)

    def done(self, request_group: RequestGroup, permit: Permit, now_s: float) -> None:
        """A row has ended, having said what its permit tells."""
        if request_group.permits.pop(permit.request_id, None) is not None:
            self._of.pop(permit.request_id)
            self.lengths.add(request_group.kind, permit.num_output_tokens)
            turn = self.controller.done(permit.request_id, now_s, permit.num_output_tokens)
            if turn.work:
                self._prompts.add(str(request_group.size), max(turn.work - permit.num_output_tokens, 0.0))
            self._turn(turn, now_s)
            self.settle(now_s)

    def gone(self, request_group: RequestGroup, permit: Permit, now_s: float) -> None:
        """A row that runs was given up."""
        if request_group.permits.pop(permit.request_id, None) is not None:
            self._of.pop(permit.request_id)
            self.controller.gone(permit.request_id, now_s, permit.num_output_tokens)
            self.settle(now_s)

    def look(self, now_s: float) -> None:
        """Time has passed: speeds are measured, deadlines looked at, and who may start does."""
        num_output_tokens = {
            each: request_group.permits[each].num_output_tokens
            for each, request_group in self._of.items()
            if each in request_group.permits
        }
        self.controller.progress(num_output_tokens, now_s)
        late = [
            request_group for request_group in self.request_groups if self._is_too_late(request_group, now_s)
        ]
        if late and self.controller.late == "error":
            standings = self.standings()
            for request_group in late:
                limit = "is over" if request_group.deadline_s <= now_s else "cannot be kept any more"
                line = (
                    f"its limit {limit}; it has waited {now_s - request_group.arrival_s:.3g} s to be admitted"
                )
                standing = standings.get(request_group)
                if standing is not None and standing.estimate_s is not None:
                    line += f", and about {standing.estimate_s:.3g} s were left to its end"
                self._refuse(request_group, Refuse(line), now_s, standing)
        self._sort_out(now_s)
        self._swept()
        self.settle(now_s)

    @property
    def every_s(self) -> float:
        """See `AdmissionPolicy.every_s`."""
        return self.controller.policy.every_s

    def expected(self, kind: str, most: float) -> float:
        """Tokens of a kind's next answer, at least one; as many as it may have where nothing is learnt."""
        known = self.lengths.of(kind) if self.controller.curve.learns else None
        return max(most if known is None else min(known, most), 1.0)

    def of_prompt(self, size: int) -> float:
        """What prompts of that size take, in tokens of an answer, where being in time is promised."""
        return 0.0 if self.controller.promise is None else self._prompts.of(str(size)) or 0.0

    def settle(self, now_s: float) -> None:
        """Have those come to the controller who are next, until nobody starts any more."""
        has_started = True
        while has_started:
            has_started = False
            for key, group in self._groups.items():
                while group and self._fronts[key] < FRONT:
                    request_group = group[0][2]
                    if not request_group.num_left or request_group in self._aside:
                        heappop(group)
                        continue
                    has_started |= self._offer(request_group, now_s)
            has_started |= self._turn(self.controller.poll(now_s), now_s)

    def refuse_late(self, request_group: RequestGroup, now_s: float) -> None:
        """Turn a group away that waits, unless it will probably be in time, or whoever is late runs last."""
        if self.controller.late == "last":
            return
        standing = self.standing(request_group)
        left_s = request_group.deadline_s - now_s
        if left_s == inf:
            line = f"the engine is busy: {standing.reason}"
        elif self._could(request_group, now_s) and (standing.estimate_s or 0.0) <= left_s:
            return
        else:
            line = f"its limit of {left_s:.3g} s will probably be missed"
        if standing.estimate_s is not None and standing.estimate_s > left_s:
            line += f": about {standing.estimate_s:.3g} s to its end"
        self._refuse(request_group, Refuse(line), now_s, standing)
        self._swept()

    def standing(self, request_group: RequestGroup) -> Standing:
        """Where a group stands."""
        return self.standings()[request_group]

    def standings(self) -> dict[RequestGroup, Standing]:
        """Where all stand that wait: behind all before them, or as much of each user's as of their own.

        For users have their turns; of one user's groups those of a lower rank are before.
        """
        running = [(p.tokens, p.permits[i].num_output_tokens) for i, p in self._of.items() if i in p.permits]
        # places come free on the way
        left = sum(max(tokens - output_tokens, 0.0) for tokens, output_tokens in running) / 2
        before: dict[str, float] = {}
        found = {}
        for request_group in sorted(self.request_groups, key=lambda each: each.rank):
            own = before.get(request_group.user, 0.0) + request_group.num_waiting * request_group.tokens
            before[request_group.user] = own
            waiting = sum(min(tokens, own) for tokens in before.values())
            alone_s = self.controller.seconds(request_group.tokens, request_group.group, max(len(running), 1))
            waiting_s = self._seconds(waiting + left)
            estimate_s = None if waiting_s is None or alone_s is None else waiting_s + alone_s
            found[request_group] = Standing(request_group.num_waiting, estimate_s, self.controller.reason)
        return found

    def tell(self) -> None:
        """Tell those who wait where they stand."""
        for request_group, standing in self.standings().items():
            if request_group.told is not None:
                request_group.is_told = True
                request_group.told(standing)

    def status(self) -> GateStatus:
        """Who waits and runs, of no model yet; of each user the estimate of whoever is served last."""
        waiting: Counter[str] = Counter()
        last: dict[str, Standing] = {}
        for request_group, standing in self.standings().items():  # by rank
            waiting[request_group.user] += request_group.num_waiting
            last[request_group.user] = standing
        running = Counter(p.user for request_id, p in self._of.items() if request_id in p.permits)
        users = [
            UserStatus(
                user, running[user], waiting[user], self.num_started[user], self.num_refused[user],
                last[user].estimate_s if user in last else None,
            )
            for user in sorted({*self.num_started, *self.num_refused, *waiting})
        ]  # fmt: skip
        controller, curve = self.controller, self.controller.curve.curve
        speed = None if curve is None else curve.speed(max(controller.load, 1))
        return GateStatus.here(
            model="", policy=controller.policy.name, places=controller.most, reason=controller.reason,
            speed=speed, error=controller.curve.error, users=users,
        )  # fmt: skip

    def _seconds(self, tokens: float) -> float | None:
        """How long the engine takes for so many tokens, as busy as it may be; None: nothing is known."""
        load = max(self.controller.load, 1)
        alone = self.controller.seconds(tokens, "", load)
        return None if alone is None else alone / load

    def _is_too_late(self, request_group: RequestGroup, now_s: float) -> bool:
        """Whether nobody of it may start any more, whatever comes; where that is promised, a little sooner.

        So whoever asked hears from the gate why, before its own clock says that the time is over. And sooner
        by what one takes alone, if that is little: of a statement whose other rows are answered those are not
        kept beyond their limit by one that could not be in time.
        """
        if self.controller.promise is None or request_group.deadline_s == inf:
            return request_group.deadline_s <= now_s
        latest = latest_s(request_group.arrival_s, request_group.deadline_s)
        alone_s = self.controller.seconds(request_group.tokens, request_group.group, 1) or 0.0
        return latest - min(alone_s, request_group.deadline_s - latest) <= now_s

    def _could(self, request_group: RequestGroup, now_s: float) -> bool:
        return self.controller.could(request_group.request(""), now_s)

    def _sort_out(self, now_s: float) -> None:
        """Those that would be late if they started now make room at the controller, until they would not."""
        for request_group in self.request_groups - self._aside if self.controller.promise is not None else ():
            if request_group.deadline_s < inf and not self._could(request_group, now_s):
                if not request_group.waits:
                    self.refuse_late(request_group, now_s)
                    continue
                for request_id in list(request_group.offered):
                    self._forget(request_id)
                    self.controller.gone(request_id, now_s)
                    request_group.num_left += 1
                self._aside.add(request_group)
        for request_group in [
            request_group for request_group in self._aside if self._could(request_group, now_s)
        ]:
            self._aside.remove(request_group)
            self._queue(request_group)

    def _key(self, request_group: RequestGroup) -> Key:
        return (
            request_group if self.controller.shares is None else (request_group.user, request_group.slo_class)
        )

    def _queue(self, request_group: RequestGroup) -> None:
        group = self._groups.setdefault(self._key(request_group), [])
        heappush(group, (request_group.rank, next(self._numbers), request_group))

    def _offer(self, request_group: RequestGroup, now_s: float) -> bool:
        request = request_group.next_request(str(next(self._numbers)))
        decision = self.controller.offered(request, now_s)
        if isinstance(decision, Refuse):
            self._refuse(request_group, decision, now_s, None)
            return False
        request_group.offered[request.request_id] = request
        self._of[request.request_id] = request_group
        self._fronts[self._key(request_group)] += 1
        if isinstance(decision, Admit):
            self._start(request, now_s)
            return True
        return False

    def _turn(self, turn: AdmissionTurn, now_s: float) -> bool:
        for request in turn.started:
            self._start(request, now_s)
        for request, refusal in turn.refused:
            if (request_group := self._of.get(request.request_id)) is not None:
                self._refuse(request_group, refusal, now_s, self.standings().get(request_group))
        return bool(turn.started)

    def _start(self, request: AdmissionRequest, now_s: float) -> None:
        request_group = self._of[request.request_id]
        del request_group.offered[request.request_id]
        self._fronts[self._key(request_group)] -= 1
        permit = request_group.permits[request.request_id] = Permit(
            request.request_id, now_s - request_group.arrival_s
        )
        self.num_started[request_group.user] += 1
        request_group.started(permit)
        if request_group.is_told and request_group.told is not None and not request_group.num_waiting:
            request_group.told(Standing(0, None, ""))

    def _refuse(
        self, request_group: RequestGroup, refusal: Refuse, now_s: float, standing: Standing | None
    ) -> None:
        """Turn away all of a group that waits."""
        self.num_refused[request_group.user] += max(request_group.num_waiting, 1)
        for request_id in list(request_group.offered):
            self._forget(request_id)
            self.controller.gone(request_id, now_s)
        request_group.num_left = 0
        self._aside.discard(request_group)
        estimate_s = None if standing is None else standing.estimate_s
        request_group.refused(AdmissionError(refusal.reason, estimate_s, refusal.is_over))

    def _forget(self, request_id: str) -> None:
        request_group = self._of.pop(request_id)
        if request_group.offered.pop(request_id, None) is not None:
            self._fronts[self._key(request_group)] -= 1

    def _swept(self) -> None:
        """Groups without those of whom nothing is left."""
        for key, group in list(self._groups.items()):
            kept = [each for each in group if each[2].num_left]
            if len(kept) < len(group):
                heapify(kept)
                self._groups[key] = kept
            if not kept and not self._fronts[key]:
                del self._groups[key], self._fronts[key]
