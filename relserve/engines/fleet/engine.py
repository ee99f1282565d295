"""The engines of a fleet as one: see `relserve.engines.protocol.Engine`."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing

from relserve.call.relquery import Reply, Submission
from relserve.engines.fleet.file import DISPATCH, MemberSpec
from relserve.engines.fleet.handout import Handout
from relserve.engines.fleet.member import Launcher
from relserve.engines.fleet.roster import Roster
from relserve.errors import EngineDeadError
from relserve.policies.dispatch.desk import Desk
from relserve.policies.dispatch.state import Report
from relserve.policies.dispatch.variants import make

logger = logging.getLogger(__name__)


class FleetEngine:
    """Answers from the members of a fleet, brought up when the first is asked.

    Args:
        model: the name by which users ask for it.
        specs: the members.
        launcher_of: who brings a member up.
        dispatch: the policy that says which member gets rows.
        announce: told in one line when members come up, die or are left out; default: the module's logger.
    """

    def __init__(
        self,
        model: str,
        specs: Sequence[MemberSpec],
        launcher_of: Callable[[MemberSpec], Launcher],
        *,
        dispatch: str = DISPATCH,
        announce: Callable[[str], None] | None = None,
    ) -> None:
        self.model = model
        self.roster = Roster(model, specs, launcher_of, Desk(make(dispatch)), announce or logger.info)
        self._handouts: set[Handout] = set()

    async def fingerprint(self) -> str | None:
        """See `Engine.fingerprint`: what all members have in common; None before one is up."""
        return self.roster.identity

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        """See `Engine.answer`; the first answer of any member to a row is the one that is given."""
        if not submission.prompts:
            return
        self.roster.start()
        handout = Handout(self.roster, submission)
        self._handouts.add(handout)
        try:
            async with aclosing(handout.replies()) as stream:  # type: ignore[type-var]
                async for replies in stream:
                    yield replies
        finally:
            self._handouts.discard(handout)

    def report(self, name: str, report: Report) -> bool:
        """A member tells of itself, on the engine loop; whether it counted: see `Board.report`."""
        return self.roster.report(name, report)

    async def close(self) -> None:
        """End all members, and relQueries under way with EngineDeadError; asked again, they start anew."""
        for handout in list(self._handouts):
            handout.close(EngineDeadError(f"the fleet {self.model} was closed while it worked"))
        await self.roster.close()
