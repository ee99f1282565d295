"""The members of a fleet: they are brought up, watched, mourned and brought up again."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from math import inf
from typing import Protocol

from relserve.engines.fleet.file import MemberSpec
from relserve.engines.fleet.member import FleetMember, Launched, Launcher, State
from relserve.errors import EngineDeadError, EngineStartError, ModelError, RelserveError, UsageError
from relserve.policies.dispatch.router import Router
from relserve.policies.dispatch.state import Report

FIRST_DELAY_S, LONGEST_DELAY_S = 0.2, 30.0  # before a member is tried again
STABLE_S = 60.0  # a member that lived so long is tried at once when it dies
STOP_S = 5.0  # how long a dead member's end is waited for
FADE, MOST_KINDS = 0.9, 1000  # how slowly older times of rows are forgotten
WAIT_S = 60.0  # how long rows wait for a member where there is none

logger = logging.getLogger(__name__)


class Holder(Protocol):
    """Who has rows with members: a relQuery that is handed out."""

    def changed(self) -> None:
        """Members came or went."""

    @property
    def num_waiting(self) -> int:
        """Rows that no member has."""

    def lost(self, member: FleetMember) -> int:
        """A member died; gives how many rows are asked elsewhere."""


class Roster:
    """See the module; all on the engine loop.

    Attributes:
        members: by name, in the order of the file.
        router: those that are up, as the policy knows them.
        holders: the relQueries under way.
        identity: of the answers: that of the first member that came up, if `has_identity`.
        usual_s: seconds of a row, by the kind of its relQuery, of late.
        tell: told whenever members came or went.
    """

    def __init__(
        self, model: str, specs: Iterable[MemberSpec], launcher_of: Callable[[MemberSpec], Launcher],
        router: Router, announce: Callable[[str], None], clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.model, self.router, self.clock, self._announce = model, router, clock, announce
        self.members = {spec.name: FleetMember(spec, launcher_of(spec)) for spec in specs}
        self.holders: set[Holder] = set()
        self.identity: str | None = None
        self.usual_s: OrderedDict[str, float] = OrderedDict()
        self.has_identity = False
        self._bringing: dict[str, asyncio.Task[None]] = {}
        self._nobody_since_s: float | None = None
        self._is_closing = False
        self.tell: Callable[[], None] = lambda: None

    @property
    def is_started(self) -> bool:
        """Whether members were brought up, or are."""
        return bool(self._bringing) or any(each.state is not State.STARTING for each in self.members.values())

    @property
    def open_members(self) -> dict[str, FleetMember]:
        """Those that anybody may send rows, by name; silent ones where all are."""
        found = {name: each for name, each in self.members.items() if each.is_open and each.kept_for is None}
        return {name: each for name, each in found.items() if not each.silent} or found

    @property
    def num_places(self) -> int:
        """Rows that run at once, of all members that get any."""
        return sum([each.first_rows for each in self.members.values() if each.is_open and not each.silent])

    def start(self) -> None:
        """Bring all members up that nobody brings up yet, in the background."""
        if not self.is_started:
            for member in self.members.values():
                self._bring(member)

    def see_that_somebody_comes(self, since_s: float) -> None:
        """Nothing where a member is open, or may be soon.

        Args:
            since_s: by `clock`, when who asks began to wait.

        Raises:
            EngineStartError: none has come up at all, and each has failed once.
            EngineDeadError: none is left, and none came back in `WAIT_S` while somebody waited.
        """
        if any(each.is_open for each in self.members.values()):
            self._nobody_since_s = None
            return
        now_s, members = self.clock(), self.members.values()
        if self._nobody_since_s is None:
            self._nobody_since_s = now_s
        coming = [each for each in members if each.is_coming]
        if any(each.state is State.STARTING and not each.num_failed for each in coming):
            return  # its first start: a large model takes minutes, and its engine says if it fails
        if coming and self.has_identity and now_s - max(self._nobody_since_s, since_s) < WAIT_S:
            return
        why = "; ".join(f"{each.name}: {_why_not(each)}" for each in members)
        if not self.has_identity:
            raise EngineStartError(f"no member of the fleet {self.model} came up: {why}")
        raise EngineDeadError(f"no member of the fleet {self.model} is left to ask: {why}")

    def report(self, name: str, report: Report) -> bool:
        """A member tells of itself; whether it counted: see `MemberTable.report`."""
        return self.router.report(name, report, self.clock())

    def age_s(self, name: str) -> float:
        """How old a member's latest report is; infinite where it never sent one."""
        row = self.router.members.row(name)
        return inf if row < 0 else float(self.router.members.ages_s(self.clock())[row])

    def hear(self, member: FleetMember, silent: bool) -> None:
        """A member says nothing any more, or something again."""
        member.silent = silent
        self._announce(
            f"{self.model}: member {member.name} "
            + ("says nothing; others are asked its rows, too" if silent else "is heard of again")
        )
        self._changed()

    def took(self, kind: str, seconds: float) -> None:
        """Rows of a kind were answered after so long."""
        before = self.usual_s.pop(kind, seconds)
        self.usual_s[kind] = FADE * before + (1 - FADE) * seconds
        while len(self.usual_s) > MOST_KINDS:
            self.usual_s.popitem(last=False)

    def died(self, member: FleetMember, life: int, error: Exception) -> None:
        """A member failed at work in some life; what it had goes elsewhere, and it is brought up again."""
        if member.state is not State.UP or member.life != life:
            return
        now_s = self.clock()
        member.life += 1
        member.num_deaths += 1
        member.state, member.why, member.silent = State.DEAD, in_words(error), False
        self.router.leave(member.name)
        if now_s - member.up_since_s >= STABLE_S:
            member.delay_s = 0.0
        num = sum([holder.lost(member) for holder in list(self.holders)])
        rows = f"; {num:,} {'row goes' if num == 1 else 'rows go'} elsewhere" if num else ""
        self._announce(f"{self.model}: member {member.name} died ({member.why}){rows}")
        self._bring(member)
        self._changed()

    def drain(self, name: str) -> None:
        """A member gets nothing new; what it has it answers. Raises KeyError: there is none of that name."""
        member = self.members[name]
        if not member.drained:
            member.drained = True
            self.router.leave(name)
            self._changed()

    def resume(self, name: str) -> None:
        """A member gets rows again; one that was refused is tried again. KeyError as of `drain`."""
        member = self.members[name]
        if member.state is State.REFUSED:
            member.state, member.num_failed = State.STARTING, 0
            self._bring(member)
        self._nobody_since_s = None
        if member.drained:
            member.drained = False
            if member.state is State.UP and member.launched is not None:
                self.router.join(member.launched.known)
            self._changed()

    async def close(self) -> None:
        """End all members; they are brought up anew by `start`."""
        tasks, self._bringing, self._is_closing = list(self._bringing.values()), {}, True
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        ended = []
        for member in self.members.values():  # nobody is asked any more when the first of them is stopped
            self.router.leave(member.name)
            ended.append((member, member.launched))
            member.launched = None
            member.state, member.num_failed, member.delay_s, member.why = State.STARTING, 0, 0.0, ""
            member.life += 1
        self.identity, self.has_identity, self._nobody_since_s = None, False, None
        self._is_closing = False
        await asyncio.gather(*[self._end(member, launched) for member, launched in ended])

    def _bring(self, member: FleetMember) -> None:
        if self._is_closing:
            return
        task = asyncio.ensure_future(self._bring_up(member))
        self._bringing[member.name] = task
        task.add_done_callback(lambda _: self._forget(member.name, task))

    def _forget(self, name: str, task: asyncio.Task[None]) -> None:
        if self._bringing.get(name) is task:
            del self._bringing[name]

    async def _bring_up(self, member: FleetMember) -> None:
        """Try until it is up, or refused."""
        while True:
            await self._stop(member)
            if member.delay_s:
                await asyncio.sleep(member.delay_s)
            member.delay_s = min(max(2 * member.delay_s, FIRST_DELAY_S), LONGEST_DELAY_S)
            started_s = self.clock()
            try:
                launched = await member.launcher.start(member.spec)
            except (ModelError, UsageError) as error:  # it would be the same tomorrow
                self._refuse(member, in_words(error))
                return
            except Exception as error:  # whatever it is: the others go on, and it is tried again
                member.num_failed += 1
                member.why = in_words(error)
                if member.state is State.STARTING:
                    self._announce(f"{self.model}: member {member.name} did not come up: {member.why}")
                member.state = State.DEAD
                self._changed()
                continue
            member.launched = launched
            if self.has_identity and launched.identity != self.identity:
                await self._stop(member)
                self._refuse(member, "its model is another one than the other members' (fingerprint)")
                return
            self._take_in(member, launched, started_s)
            return

    def _take_in(self, member: FleetMember, launched: Launched, started_s: float) -> None:
        self.identity, self.has_identity, self._nobody_since_s = launched.identity, True, None
        member.state, member.why, member.up_since_s = State.UP, "", self.clock()
        if not member.drained:
            self.router.join(launched.known)
        took = member.up_since_s - started_s
        self._announce(f"{self.model}: member {member.name} is up ({took:.1f} s)")
        self._changed()

    def _refuse(self, member: FleetMember, why: str) -> None:
        member.state, member.why = State.REFUSED, why
        member.num_failed += 1
        self._announce(
            f"{self.model}: member {member.name} is left out: {why}; mend it, then `relserve fleet resume`"
        )
        self._changed()

    async def _stop(self, member: FleetMember) -> None:
        launched, member.launched = member.launched, None
        await self._end(member, launched)

    async def _end(self, member: FleetMember, launched: Launched | None) -> None:
        if launched is None:
            return
        try:
            async with asyncio.timeout(STOP_S):
                await member.launcher.stop(member.spec, launched.engine)
        except Exception as error:
            logger.debug("%s: ending member %s: %s", self.model, member.name, error)

    def _changed(self) -> None:
        self.tell()
        for holder in list(self.holders):
            holder.changed()


def in_words(error: Exception) -> str:
    """What went wrong, in a line."""
    message = " ".join(str(error).split())
    return message if message and isinstance(error, RelserveError) else f"{type(error).__name__}: {message}"


def _why_not(member: FleetMember) -> str:
    if member.drained:
        return "drained (`relserve fleet resume` ends that)"
    return member.why or member.state.value
