"""Who stands at the door and who waits behind: of each user and class a few at the door, however many come.

A door looks at all that stand before it each time that somebody starts. So the rows of a relQuery come to it
in instalments, of one user and class at most `FRONT` at once; where the door has no shares, so that one queue
has all, at most `FRONT` of each relQuery. No lock and no clock: `Gate` has them.
"""

from __future__ import annotations

import itertools
from collections import Counter
from heapq import heapify, heappop, heappush
from math import inf
from typing import NamedTuple

from relserve.call.standing import Standing
from relserve.errors import AdmissionError
from relserve.gate.lengths import AnswerLengths, Means
from relserve.gate.party import Party
from relserve.gate.ticket import Ticket
from relserve.machine.gate_status import UserStatus
from relserve.policies.admission.door import AdmissionController
from relserve.policies.admission.kept import latest_s
from relserve.policies.admission.request import AdmissionRequest, AdmissionTurn, Admit, Refuse

FRONT = 8  # requests of a user and class at the door; policies look at fewer
Group = list[tuple[float, int, Party]]  # a heap, by rank and arrival
Key = tuple[str, str] | Party


class DeskStatus(NamedTuple):
    """Who waits and runs; attributes as of `GateStatus`."""

    policy: str
    places: int | None
    reason: str
    speed: float | None
    error: float
    users: list[UserStatus]


class AdmissionQueue:
    """All that wait and run.

    Attributes:
        lengths: what is learnt of answers' lengths.
        num_started, num_refused: so far.
    """

    def __init__(self, door: AdmissionController) -> None:
        self.door, self.lengths, self._prompts = door, AnswerLengths(), Means()
        self.num_started, self.num_refused = Counter[str](), Counter[str]()  # by user
        self._groups: dict[Key, Group] = {}
        self._fronts: Counter[Key] = Counter()
        self._aside: set[Party] = set()  # who would be late if they started now
        self._of: dict[str, Party] = {}  # of those at the door and of those that run, by request
        self._numbers = itertools.count(1)

    @property
    def parties(self) -> set[Party]:
        """Those of whom rows wait."""
        behind = {party for group in self._groups.values() for _, _, party in group if party.num_left}
        return behind | self._aside | {party for party in self._of.values() if party.at_door}

    @property
    def is_idle(self) -> bool:
        """Whether nobody waits or runs."""
        return not (self._of or self._aside or any(self._groups.values()))

    def come(self, party: Party, now_s: float) -> None:
        """A party wants to enter."""
        work_s = self._seconds(party.num_left * party.tokens)
        party.rank = party.arrival_s + (work_s or 0.0)  # a long one lets short ones by, but not for ever
        self._queue(party)
        self.settle(now_s)

    def leave(self, party: Party, now_s: float) -> None:
        """A party is gone, with all of its rows."""
        for request_id in [*party.at_door, *party.tickets]:
            ticket = party.tickets.pop(request_id, None)
            self._forget(request_id)
            self.door.gone(request_id, now_s, ticket.said if ticket else 0.0)
        party.num_left = 0
        self._aside.discard(party)
        self._swept()
        self.settle(now_s)

    def done(self, party: Party, ticket: Ticket, now_s: float) -> None:
        """A row has ended, having said what its ticket tells."""
        if party.tickets.pop(ticket.request_id, None) is not None:
            self._of.pop(ticket.request_id)
            self.lengths.learn(party.kind, ticket.said)
            turn = self.door.done(ticket.request_id, now_s, ticket.said)
            if turn.work:
                self._prompts.learn(str(party.size), max(turn.work - ticket.said, 0.0))
            self._turn(turn, now_s)
            self.settle(now_s)

    def gone(self, party: Party, ticket: Ticket, now_s: float) -> None:
        """A row that runs was given up."""
        if party.tickets.pop(ticket.request_id, None) is not None:
            self._of.pop(ticket.request_id)
            self.door.gone(ticket.request_id, now_s, ticket.said)
            self.settle(now_s)

    def look(self, now_s: float) -> None:
        """Time has passed: speeds are measured, deadlines looked at, and who may start does."""
        said = {each: party.tickets[each].said for each, party in self._of.items() if each in party.tickets}
        self.door.progress(said, now_s)
        late = [party for party in self.parties if self._is_too_late(party, now_s)]
        if late and self.door.late == "error":
            standings = self.standings()
            for party in late:
                limit = "is over" if party.deadline_s <= now_s else "cannot be kept any more"
                line = f"its limit {limit}; it has waited {now_s - party.arrival_s:.3g} s to be admitted"
                standing = standings.get(party)
                if standing is not None and standing.estimate_s is not None:
                    line += f", and about {standing.estimate_s:.3g} s were left to its end"
                self._refuse(party, Refuse(line), now_s, standing)
        self._sort_out(now_s)
        self._swept()
        self.settle(now_s)

    @property
    def every_s(self) -> float:
        """See `AdmissionPolicy.every_s`."""
        return self.door.policy.every_s

    def expected(self, kind: str, most: float) -> float:
        """Tokens of a kind's next answer; the most that it may have before a door that learns nothing."""
        return self.lengths.expected(kind, most) if self.door.curve.learns else max(most, 1.0)

    def of_prompt(self, size: int) -> float:
        """What prompts of that size take, in tokens of an answer, where being in time is promised."""
        return 0.0 if self.door.promise is None else self._prompts.get(str(size)) or 0.0

    def settle(self, now_s: float) -> None:
        """Have those come to the door who are next, until nobody starts any more."""
        has_started = True
        while has_started:
            has_started = False
            for key, group in self._groups.items():
                while group and self._fronts[key] < FRONT:
                    party = group[0][2]
                    if not party.num_left or party in self._aside:
                        heappop(group)
                        continue
                    has_started |= self._offer(party, now_s)
            has_started |= self._turn(self.door.poll(now_s), now_s)

    def refuse_late(self, party: Party, now_s: float) -> None:
        """Turn a party away that waits, unless it will probably be in time, or whoever is late runs last."""
        if self.door.late == "last":
            return
        standing = self.standing(party)
        left_s = party.deadline_s - now_s
        if left_s == inf:
            line = f"the engine is busy: {standing.reason}"
        elif self._could(party, now_s) and (standing.estimate_s or 0.0) <= left_s:
            return
        else:
            line = f"its limit of {left_s:.3g} s will probably be missed"
        if standing.estimate_s is not None and standing.estimate_s > left_s:
            line += f": about {standing.estimate_s:.3g} s to its end"
        self._refuse(party, Refuse(line), now_s, standing)
        self._swept()

    def standing(self, party: Party) -> Standing:
        """Where a party stands."""
        return self.standings()[party]

    def standings(self) -> dict[Party, Standing]:
        """Where all stand that wait: behind all before them, or as much of each user's as of their own.

        For users have their turns; of one user's parties those of a lower rank are before.
        """
        running = [(p.tokens, p.tickets[i].said) for i, p in self._of.items() if i in p.tickets]
        left = sum(max(tokens - said, 0.0) for tokens, said in running) / 2  # places come free on the way
        before: dict[str, float] = {}
        found = {}
        for party in sorted(self.parties, key=lambda each: each.rank):
            own = before.get(party.user, 0.0) + party.num_waiting * party.tokens
            before[party.user] = own
            waiting = sum(min(tokens, own) for tokens in before.values())
            alone_s = self.door.seconds(party.tokens, party.group, max(len(running), 1))
            waiting_s = self._seconds(waiting + left)
            estimate_s = None if waiting_s is None or alone_s is None else waiting_s + alone_s
            found[party] = Standing(party.num_waiting, estimate_s, self.door.reason)
        return found

    def tell(self) -> None:
        """Tell those who wait where they stand."""
        for party, standing in self.standings().items():
            if party.told is not None:
                party.is_told = True
                party.told(standing)

    def status(self) -> DeskStatus:
        """Who waits and runs now; of each user the estimate of whoever is served last."""
        waiting: Counter[str] = Counter()
        last: dict[str, Standing] = {}
        for party, standing in self.standings().items():  # by rank
            waiting[party.user] += party.num_waiting
            last[party.user] = standing
        running = Counter(p.user for request_id, p in self._of.items() if request_id in p.tickets)
        users = [
            UserStatus(
                user, running[user], waiting[user], self.num_started[user], self.num_refused[user],
                last[user].estimate_s if user in last else None,
            )
            for user in sorted({*self.num_started, *self.num_refused, *waiting})
        ]  # fmt: skip
        door, curve = self.door, self.door.curve.curve
        speed = None if curve is None else curve.speed(max(door.load, 1))
        return DeskStatus(door.policy.name, door.most, door.reason, speed, door.curve.error, users)

    def _seconds(self, tokens: float) -> float | None:
        """How long the engine takes for so many tokens, as busy as it may be; None: nothing is known."""
        load = max(self.door.load, 1)
        alone = self.door.seconds(tokens, "", load)
        return None if alone is None else alone / load

    def _is_too_late(self, party: Party, now_s: float) -> bool:
        """Whether nobody of it may start any more, whatever comes; where that is promised, a little sooner.

        So whoever asked hears from the gate why, before its own clock says that the time is over. And sooner
        by what one takes alone, if that is little: of a statement whose other rows are answered those are not
        kept beyond their limit by one that could not be in time.
        """
        if self.door.promise is None or party.deadline_s == inf:
            return party.deadline_s <= now_s
        latest = latest_s(party.arrival_s, party.deadline_s)
        alone_s = self.door.seconds(party.tokens, party.group, 1) or 0.0
        return latest - min(alone_s, party.deadline_s - latest) <= now_s

    def _could(self, party: Party, now_s: float) -> bool:
        return self.door.could(party.request(""), now_s)

    def _sort_out(self, now_s: float) -> None:
        """Those that would be late if they started now make room at the door, until they would not."""
        for party in self.parties - self._aside if self.door.promise is not None else ():
            if party.deadline_s < inf and not self._could(party, now_s):
                if not party.waits:
                    self.refuse_late(party, now_s)
                    continue
                for request_id in list(party.at_door):
                    self._forget(request_id)
                    self.door.gone(request_id, now_s)
                    party.num_left += 1
                self._aside.add(party)
        for party in [party for party in self._aside if self._could(party, now_s)]:
            self._aside.remove(party)
            self._queue(party)

    def _key(self, party: Party) -> Key:
        return party if self.door.shares is None else (party.user, party.slo_class)

    def _queue(self, party: Party) -> None:
        group = self._groups.setdefault(self._key(party), [])
        heappush(group, (party.rank, next(self._numbers), party))

    def _offer(self, party: Party, now_s: float) -> bool:
        request = party.next_request(str(next(self._numbers)))
        decision = self.door.offered(request, now_s)
        if isinstance(decision, Refuse):
            self._refuse(party, decision, now_s, None)
            return False
        party.at_door[request.request_id] = request
        self._of[request.request_id] = party
        self._fronts[self._key(party)] += 1
        if isinstance(decision, Admit):
            self._start(request, now_s)
            return True
        return False

    def _turn(self, turn: AdmissionTurn, now_s: float) -> bool:
        for request in turn.started:
            self._start(request, now_s)
        for request, refusal in turn.refused:
            if (party := self._of.get(request.request_id)) is not None:
                self._refuse(party, refusal, now_s, self.standings().get(party))
        return bool(turn.started)

    def _start(self, request: AdmissionRequest, now_s: float) -> None:
        party = self._of[request.request_id]
        del party.at_door[request.request_id]
        self._fronts[self._key(party)] -= 1
        ticket = party.tickets[request.request_id] = Ticket(request.request_id, now_s - party.arrival_s)
        self.num_started[party.user] += 1
        party.started(ticket)
        if party.is_told and party.told is not None and not party.num_waiting:
            party.told(Standing(0, None, ""))

    def _refuse(self, party: Party, refusal: Refuse, now_s: float, standing: Standing | None) -> None:
        """Turn away all of a party that waits."""
        self.num_refused[party.user] += max(party.num_waiting, 1)
        for request_id in list(party.at_door):
            self._forget(request_id)
            self.door.gone(request_id, now_s)
        party.num_left = 0
        self._aside.discard(party)
        estimate_s = None if standing is None else standing.estimate_s
        party.refused(AdmissionError(refusal.reason, estimate_s))

    def _forget(self, request_id: str) -> None:
        party = self._of.pop(request_id)
        if party.at_door.pop(request_id, None) is not None:
            self._fronts[self._key(party)] -= 1

    def _swept(self) -> None:
        """Groups without those of whom nothing is left."""
        for key, group in list(self._groups.items()):
            kept = [each for each in group if each[2].num_left]
            if len(kept) < len(group):
                heapify(kept)
                self._groups[key] = kept
            if not kept and not self._fronts[key]:
                del self._groups[key], self._fronts[key]
