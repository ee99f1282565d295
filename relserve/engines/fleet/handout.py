"""One submission under way in a fleet, handed out in instalments; the first answer to each row counts."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from math import ceil, inf

from relserve.call.relquery import Reply, Submission
from relserve.engines.fleet.instalment import Instalment, as_asked, by_lateness, unheard
from relserve.engines.fleet.member import FleetMember
from relserve.engines.fleet.quarantine import Quarantine
from relserve.engines.fleet.roster import Roster, in_words
from relserve.engines.fleet.supply import Entrance, Supply
from relserve.errors import (
    EngineDeadError,
    EngineError,
    EngineStartError,
    Failure,
    FailureKind,
    ModelError,
    UsageError,
)  # fmt: skip
from relserve.gate.gate import Gate
from relserve.policies.dispatch.instalments import UNKNOWN_S, Pace, num_again, num_shared, shown_rates, size
from relserve.policies.dispatch.router import Asked

TICK_S = 0.05  # how often time alone may have rows asked again
LEAVE_S = 0.5  # how long what was cancelled is waited for

_numbers = itertools.count(1)


class Handout:
    """See the module; rows pass a gate before members get them."""

    def __init__(self, roster: Roster, submission: Submission, gate: Gate) -> None:
        self._roster, self._submission = roster, submission
        prompts = submission.prompts
        self.unanswered = dict.fromkeys(range(len(prompts)))
        self._supply = Supply(prompts, waits=not gate.is_open)
        self._shared = num_shared(min(prompts), max(prompts)) if len(prompts) > 1 else 0
        self._quarantine, self._paces = Quarantine(), dict[str, Pace]()
        self._out, self._held = set[Instalment](), dict[int, list[Instalment]]()
        self._given_up: set[int] = set()
        self._ready: list[Reply] = []
        self._error: Exception | None = None
        self._strange: set[str] = set()  # what members said that no engine should
        self._num_sent: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._entrance = Entrance(gate, submission, self._supply, self._wake.set, self._take, self._over)

    async def replies(self) -> AsyncIterator[list[Reply]]:
        """Replies as they come, each prompt's once; closing it aborts what is unfinished.

        Raises:
            EngineStartError, EngineDeadError: nobody is left to ask.
            UsageError, EngineError: as a member raised it, of what was asked.
        """
        roster = self._roster
        roster.holders.add(self)
        self._entrance.open()
        since_s = roster.clock()
        try:
            while True:
                self._wake.clear()
                if self._ready:
                    ready, self._ready = self._ready, []
                    yield ready
                    continue
                if self._error is not None:
                    raise self._error
                if not self.unanswered:
                    return
                self._hand_out()
                if not self._out:
                    roster.see_that_somebody_comes(since_s)
                with suppress(TimeoutError):
                    async with asyncio.timeout(TICK_S):
                        await self._wake.wait()
        finally:
            roster.holders.discard(self)
            await self._leave()

    def close(self, error: Exception) -> None:
        """End with an error."""
        self._error = error
        self._wake.set()

    @property
    def num_waiting(self) -> int:
        """See `Holder.num_waiting`."""
        return len(self._supply) + len(self._quarantine.rows) + self._entrance.num_waiting

    def changed(self) -> None:
        """See `Holder.changed`."""
        self._wake.set()

    def lost(self, member: FleetMember) -> int:
        """See `Holder.lost`."""
        rows, quarantine = self._rows_with(member), self._quarantine
        quarantine.blame(rows)
        is_alone = member in quarantine.kept and len(rows) == 1
        for instalment in [each for each in self._out if each.member is member]:
            self._end(instalment)
        quarantine.release(member)
        if is_alone and quarantine.is_sure(rows[0]):
            num = quarantine.deaths[rows[0]]
            why = f"{num} members died while they were asked this row ({member.why})"
            self._take(rows[0], Reply(rows[0], None, Failure(FailureKind.ENGINE, why)))
        for row in filter(quarantine.is_suspect, rows):  # alone, or it is not known who kills
            self._withdraw(row)
        rows = [row for row in rows if row in self.unanswered and row not in self._held]
        self._supply.put_back(quarantine.take_in(rows))
        return len(rows)

    def _rows_with(self, member: FleetMember) -> list[int]:
        return sorted({row for each in self._out if each.member is member for row in each.left})

    def _hand_out(self) -> None:
        """Give members that have room rows that nobody has; at the end, rows that are late elsewhere."""
        members, now_s = self._roster.open_members, self._roster.clock()
        self._hand_out_suspects(members, now_s)
        self._hand_out_unheard(members, now_s)
        while self._supply:
            sizes = self._sizes(members, now_s)
            ready = [name for name, num in sizes.items() if num]
            if not ready:
                return
            name = self._choose(self._supply.peek(), now_s, ready)
            self._send(members[name], self._supply.take(sizes[name], name), now_s)
        idle = [name for name in members if not self._pace(name).num_out]
        if self._out and idle:
            self._ask_again(members, idle, now_s)

    def _hand_out_suspects(self, members: dict[str, FleetMember], now_s: float) -> None:
        """Ask suspects of members that have nothing else, and keep such free; others may remain."""
        its = self._quarantine
        while its.rows and members and (len(members) > 1 or not its.kept):
            del members[its.keep_one(members.values()).name]
        for member, has in list(its.kept.items()):
            if has in self._out and has is not None:
                if its.is_late(has, now_s, self._usual_s()):
                    rows = list(has.left)
                    self._end(has)
                    its.take_in(rows)
                    its.release(member)
            elif not its.rows or not member.is_open:
                its.release(member)
            elif not member.num_rows:
                its.kept[member] = self._send(member, its.next_rows(), now_s, "alone", alone=True)

    def _hand_out_unheard(self, members: Mapping[str, FleetMember], now_s: float) -> None:
        """Ask others at once, too, what members have that say nothing: it is half a second's work."""
        able = [name for name, member in members.items() if not member.silent]
        if able and (rows := unheard(self._out, self._held)):
            self._send(members[self._choose(rows[0], now_s, able)], rows, now_s, "silent elsewhere")

    def _usual_s(self) -> float:
        """Seconds of a row, as far as is known."""
        here_s = min([pace.typical_s for pace in self._paces.values()], default=inf)
        kind = self._submission.kind or ""
        return here_s if here_s < inf else self._roster.usual_s.get(kind, UNKNOWN_S)

    def _choose(self, row: int, now_s: float, among: Sequence[str]) -> str:
        return self._roster.router.choose(self._asked(row, 0), now_s, among)

    def _asked(self, row: int, serial: int) -> Asked:
        return as_asked(self._submission, row, serial, self._shared)

    def _pace(self, name: str) -> Pace:
        return self._paces.setdefault(name, Pace())

    def _sizes(self, members: Mapping[str, FleetMember], now_s: float) -> dict[str, int]:
        """Rows that each member would get now."""
        weights = {name: member.spec.weight for name, member in members.items()}
        rest, rates = len(self._supply), shown_rates(self._paces, weights, now_s)
        total = sum(rates.values())
        return {
            name: size(rest, self._pace(name).room(member.first_rows, now_s), rates[name] / total)
            for name, member in members.items()
        }

    def _send(
        self, member: FleetMember, rows: list[int], now_s: float, why: str = "", alone: bool = False
    ) -> Instalment:
        launched, submission, router = member.launched, self._submission, self._roster.router
        assert launched is not None
        serial = next(_numbers)
        number = router.put([self._asked(row, serial) for row in rows], member.name, now_s)
        reason = f"{router.policy.name}{why and ', ' + why}"
        made = Instalment(member, member.life, launched.engine, rows, set(rows), now_s, serial, alone, reason)
        for row in rows:
            self._held.setdefault(row, []).append(made)
        pace = self._pace(member.name)
        pace.sent(len(rows), now_s)
        self._num_sent[member.name] += len(rows)
        member.sent(len(rows), reason)
        part = replace(submission.part(rows, self._announced(member.name)), dispatch=number, told=None)
        self._out.add(made)
        made.task = asyncio.ensure_future(made.traced(self._ask, part))
        self._tasks.add(made.task)
        made.task.add_done_callback(self._over)
        return made

    def _over(self, task: asyncio.Task[None]) -> None:
        """A task is over; one that ended with an error would leave its rows to nobody."""
        self._tasks.discard(task)
        if not task.cancelled() and isinstance(error := task.exception(), Exception):
            self.close(error)

    def _announced(self, name: str) -> int:
        """Rows that a member will get in all, as far as can be foreseen: its scheduler reckons with them."""
        num = len(self._submission.prompts)
        rest = len(self._supply) + self._entrance.num_waiting + max((self._submission.rows or num) - num, 0)
        return self._num_sent[name] + ceil(rest / max(len(self._roster.open_members), 1))

    async def _ask(self, its: Instalment, part: Submission) -> None:
        try:
            async with aclosing(its.engine.answer(part)) as stream:  # type: ignore[type-var]
                async for replies in stream:
                    self._came(its, replies)
                    if not its.left:
                        break
            if its.left:
                raise EngineDeadError(f"it ended without an answer to {len(its.left):,} rows")
        except (EngineDeadError, EngineStartError, ModelError) as error:
            self._roster.died(its.member, its.life, error)
        except (UsageError, EngineError) as error:  # what a member that lives says of the call
            self.close(error)
        except Exception as error:  # a member of no use; but where two say the same, it is the call's fault
            if in_words(error) in self._strange:
                self.close(error)
            else:
                self._strange.add(in_words(error))
                self._roster.died(its.member, its.life, error)
        finally:
            self._end(its)
            self._wake.set()

    def _came(self, its: Instalment, replies: Sequence[Reply]) -> None:
        """Take a member's answers; those that another gave before count for nothing."""
        now_s, router, num = self._roster.clock(), self._roster.router, 0
        for reply in replies:
            row = its.rows[reply.index]
            if row not in its.left:
                continue
            num += 1
            output = reply.usage.output_tokens if reply.failure is None else None
            router.ended(self._asked_id(its, row), now_s, output)
            self._let_go(its, row)
            failure = reply.failure
            if failure is not None and failure.kind is FailureKind.ENGINE and row not in self._given_up:
                self._given_up.add(row)
                self._ask_another(row, its.member.name, now_s)
            else:
                self._take(row, replace(reply, index=row), its.member)
        its.num_answered += num
        self._pace(its.member.name).came(num, now_s - its.sent_s, now_s)
        self._roster.took(self._submission.kind or "", now_s - its.sent_s)
        self._wake.set()

    def _take(self, row: int, reply: Reply, member: FleetMember | None = None) -> None:
        """A row has its answer; nobody else is to go on with it."""
        del self.unanswered[row]
        self._ready.append(reply)
        self._entrance.ended(row, reply)
        if member is not None:
            member.num_answered += 1
        self._withdraw(row)

    def _withdraw(self, row: int) -> None:
        """Nobody is to go on with a row; an instalment of which nothing is left is given up."""
        for other in list(self._held.get(row, ())):
            self._roster.router.ended(self._asked_id(other, row), self._roster.clock())
            self._let_go(other, row)
            self._pace(other.member.name).gone(1)
            if not other.left:
                self._end(other)

    def _ask_another(self, row: int, name: str, now_s: float) -> None:
        """A member gave a row up: another is asked, or the same where there is none."""
        if row in self._held:
            return
        members = self._roster.open_members
        if others := [each for each in members if each != name] or list(members):
            self._send(members[self._choose(row, now_s, others)], [row], now_s, "given up elsewhere")
        else:
            self._supply.put_back([row])

    def _ask_again(self, members: Mapping[str, FleetMember], idle: list[str], now_s: float) -> None:
        """Have an idle member asked, too, what another would need much longer for."""
        usual_s = self._usual_s()
        left_s = {its: self._left_s(its, now_s, usual_s) for its in self._out}
        for its, rows in by_lateness(self._held, left_s):
            slow = self._pace(its.member.name)
            name = self._choose(rows[-1], now_s, idle)
            num = num_again(slow, self._pace(name), len(rows), now_s, usual_s)
            num = len(rows) if left_s[its] == inf else num
            if num:
                self._send(members[name], rows[-num:], now_s, "late elsewhere")
                return

    def _left_s(self, its: Instalment, now_s: float, usual_s: float) -> float:
        return inf if its.member.silent else self._pace(its.member.name).remaining_s(now_s, usual_s)

    def _asked_id(self, its: Instalment, row: int) -> str:
        return f"{self._submission.rel_id}.{its.serial}.{row}"

    def _let_go(self, its: Instalment, row: int) -> None:
        """An instalment has a row no more."""
        its.left.discard(row)
        its.member.num_rows -= 1
        holders = self._held[row]
        holders.remove(its)
        if not holders:
            del self._held[row]

    def _end(self, its: Instalment) -> None:
        """An instalment is over, whatever it has not answered."""
        if its not in self._out:
            return
        self._out.discard(its)
        now_s, left = self._roster.clock(), list(its.left)
        for row in left:
            self._roster.router.ended(self._asked_id(its, row), now_s)
            self._let_go(its, row)
        self._pace(its.member.name).gone(len(left))
        if its.task is not None and its.task is not asyncio.current_task():
            its.task.cancel()

    async def _leave(self) -> None:
        """Give up what is under way."""
        is_whole = not self.unanswered
        self._entrance.leave()
        self._quarantine.release_all()
        for its in list(self._out):
            self._end(its)
        if self._tasks and not is_whole:
            await asyncio.wait(self._tasks, timeout=LEAVE_S)
