"""Watching members: one that says nothing gets no more rows, and others are asked those that it has, too."""

from __future__ import annotations

import asyncio
import itertools
from math import inf

from relserve.engines.fleet.member import FleetMember, State
from relserve.engines.fleet.roster import Roster
from relserve.errors import EngineError, ModelError

EVERY_S = 0.4  # between two looks at those that have rows
OF_ALL = 8  # every so many looks are at all members, whether they have any or not
PING_S = 0.8  # within which a member that lives answers a ping
SILENT_S = 1.2  # the same of the reports of one that sends any


class MemberWatch:
    """Looks from when somebody first has rows with members."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._task: asyncio.Task[None] | None = None

    def look(self) -> None:
        """Begin to look, if nobody does."""
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._look())

    def stop(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()

    async def _look(self) -> None:
        members = self._roster.members.values()
        for number in itertools.count(1):
            await asyncio.sleep(EVERY_S)
            works = bool(self._roster.holders) or any(each.silent for each in members)
            at_all = not number % OF_ALL
            if works or at_all:
                ups = [each for each in members if each.state is State.UP]
                its = [each for each in ups if at_all or each.num_rows or each.silent]
                await asyncio.gather(*map(self._see, its))
                self._roster.tell()

    async def _see(self, member: FleetMember) -> None:
        life, launched = member.life, member.launched
        silent = SILENT_S < self._roster.age_s(member.name) < inf
        assert launched is not None
        try:
            silent |= not await asyncio.wait_for(member.launcher.ping(launched.engine), PING_S)
        except TimeoutError:
            silent = True
        except Exception as error:  # nobody is there: twice, and it is dead, though it may have no rows
            if member.silent:
                self._roster.died(member, life, error)
                return
            silent = True
        if member.life == life and member.silent != silent:
            self._roster.hear(member, silent)


async def see_that_models_are_the_same(roster: Roster) -> bool:
    """Whether all members' answers may be kept; one that has another model by now is taken out."""
    members = [each for each in roster.members.values() if each.state is State.UP]
    return all(await asyncio.gather(*[_is_same(roster, each) for each in members]))


async def _is_same(roster: Roster, member: FleetMember) -> bool:
    life, launched = member.life, member.launched
    assert launched is not None
    try:
        mark = await asyncio.wait_for(launched.engine.fingerprint(), PING_S)
    except TimeoutError:
        return True
    except (EngineError, ModelError) as error:
        roster.died(member, life, error)
        return True
    if mark is not None and mark != launched.mark:
        roster.died(member, life, ModelError("it has another model now"))
    return mark is not None
