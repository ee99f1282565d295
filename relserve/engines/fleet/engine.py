"""The engines of a fleet as one: see `relserve.engines.protocol.Engine`."""

from __future__ import annotations

import asyncio
import logging
import shutil
import tempfile
import weakref
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relserve.call.prefix_share import BLOCK
from relserve.call.relquery import Reply, Submission
from relserve.engines import fingerprint
from relserve.engines.fleet.file import FleetFile, MemberSpec
from relserve.engines.fleet.handout import Handout
from relserve.engines.fleet.member import FleetMember, Launcher
from relserve.engines.fleet.roster import Roster
from relserve.engines.fleet.watch import MemberWatch, see_that_models_are_the_same
from relserve.engines.fleet.workflows import FleetWorkflows
from relserve.engines.protocol import Encoder, Engine, Estimable
from relserve.errors import EngineDeadError, EngineError, ModelError
from relserve.gate.gate import Gate
from relserve.machine.engine_status import StatusFile
from relserve.machine.fleet_status import FleetStatus, MemberStatus
from relserve.policies.dispatch.router import Router
from relserve.policies.dispatch.state import Report
from relserve.policies.dispatch.variants import make
from relserve.policies.model.lengths import LengthLearner
from relserve.policies.model.linear import CostModel

if TYPE_CHECKING:
    from relserve.engines.fleet.openai import FleetSocket

POLL_S = 0.02  # between two looks whether a member is up

logger = logging.getLogger(__name__)


class FleetEngine:
    """Answers from the members of a fleet, brought up when the first is asked.

    Args:
        model: the name by which users ask for it.
        file: the members, and the policy that says which of them gets rows.
        launcher_of: who brings a member up.
        announce: told in one line when members come up, die or are left out; default: the module's logger.
        files: an engine of the model that tells what its files tell, and is never started; None: they are
            not here.
        gate: decides which rows, and requests of OpenAI clients, start; default: all do.
    """

    def __init__(
        self,
        model: str,
        file: FleetFile,
        launcher_of: Callable[[MemberSpec], Launcher],
        *,
        announce: Callable[[str], None] | None = None,
        files: Engine | None = None,
        gate: Gate | None = None,
    ) -> None:
        self.model, self.file, self.gate, self.say = model, file, gate or Gate(), announce or logger.info
        router = Router(make(file.dispatch))
        self.roster = Roster(model, file.members, launcher_of, router, self.say)
        self._watch = MemberWatch(self.roster)
        self._workflows = FleetWorkflows(router, lambda: self.roster.clock(), self._say_of_router)
        self._handouts: set[Handout] = set()
        self._files = files
        self._told = files if isinstance(files, Estimable) else None
        self._status_file: StatusFile | None = None
        self._openai: FleetSocket | None = None
        self.roster.tell = self._publish

    async def start(self) -> None:
        """Bring the members up, and wait until one is.

        Raises:
            EngineStartError: none came up.
            EngineDeadError: none is left, and none came back in time.
        """
        self.roster.start()
        since_s = self.roster.clock()
        while not self.roster.open_members:
            self.roster.see_that_somebody_comes(since_s)
            await asyncio.sleep(POLL_S)

    async def fingerprint(self) -> str | None:
        """See `Engine.fingerprint`: what all members have in common, and the URLs of those that are servers.

        A server that has another model by now is taken out. Before any is up: of the model's files, or of
        the first server that answers.
        """
        if self.roster.has_identity:
            may_keep = await see_that_models_are_the_same(self.roster)
            return self._mark(self.roster.identity) if may_keep else None
        if self._files is not None:
            return await self._files.fingerprint()
        for member in self.roster.members.values():
            if member.spec.url:
                try:
                    found = await member.launcher.start(member.spec)
                except (EngineError, ModelError):
                    continue
                await member.launcher.stop(member.spec, found.engine)
                return self._mark(found.identity)
        return None

    def _mark(self, identity: str | None) -> str | None:
        urls = sorted(spec.url for spec in self.file.members if spec.url)
        return fingerprint.of_server(" ".join(urls), identity) if urls and identity else identity

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        """See `Engine.answer`; the first answer of any member to a row is the one that is given.

        Raises:
            EngineStartError: no member came up.
            EngineDeadError: none is left that could be asked; replies yielded before still stand.
        """
        if not submission.prompts:
            return
        await self.begin()
        handout = Handout(self.roster, submission, self.gate)
        self._handouts.add(handout)
        try:
            with self._workflows.step(submission) as told:
                async with aclosing(handout.replies()) as stream:  # type: ignore[type-var]
                    self._watch.look()
                    async for replies in stream:
                        told(replies)
                        yield replies
        finally:
            self._handouts.discard(handout)

    async def openai_socket(self, arguments: Mapping[str, Any]) -> Path:
        """See `ServesOpenAI.openai_socket`; gone with `close`."""
        if self._openai is None:
            from relserve.engines.fleet.openai import FleetSocket  # needs the extra `server`

            folder = tempfile.mkdtemp(prefix="relserve-")  # with mode 0700
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._openai = FleetSocket(self, Path(folder, "openai.sock"), arguments)
        await self._openai.open()
        return self._openai.path

    async def begin(self) -> None:
        """Have the members brought up; before a gate that lets in as many as they take, until one is up."""
        self.roster.start()
        if not self.gate.is_open:
            await self.start()

    def look(self) -> None:
        """See from now on whether the members live, often while somebody has rows or requests with them."""
        self._watch.look()

    def report(self, name: str, report: Report) -> bool:
        """A member tells of itself, on the engine loop; whether it counted: see `MemberTable.report`."""
        return self.roster.report(name, report)

    def status(self) -> FleetStatus:
        """Its members, as of now."""
        return _status_of(self.roster)

    def _say_of_router(self, line: str) -> None:
        self.say(f"{self.model}: {line}")

    def _publish(self) -> None:
        """Members have changed: it is written where `relserve top` reads it, and the gate fits who is up."""
        self.gate.fits(self.roster.num_places)
        if self._status_file is None:
            self._status_file = StatusFile("fleet")
        self._status_file.write(self.status())

    def drain(self, name: str) -> None:
        """A member gets nothing new, until `resume`; what it has it answers.

        Raises:
            EngineError: there is no member of that name.
        """
        self.roster.drain(self._known(name))

    def resume(self, name: str) -> None:
        """A member gets rows again; one that was left out is tried again. EngineError as of `drain`."""
        self.roster.resume(self._known(name))

    def _known(self, name: str) -> str:
        if name not in self.roster.members:
            there = ", ".join(self.roster.members)
            raise EngineError(f"the fleet {self.model} has no member {name!r}; there are: {there}")
        return name

    def find_encoder(self) -> Encoder | None:
        """See `Estimable`."""
        return None if self._told is None else self._told.find_encoder()

    def find_cost(self) -> CostModel | None:
        """See `Estimable`: of one member."""
        return None if self._told is None else self._told.find_cost()

    def find_lengths(self) -> LengthLearner:
        """See `Estimable`."""
        return LengthLearner() if self._told is None else self._told.find_lengths()

    @property
    def max_num_seqs(self) -> int | None:
        """See `Estimable`: of all members, where the user set it."""
        its = None if self._told is None else self._told.max_num_seqs
        return None if its is None else its * len(self.file.members)

    @property
    def block_size(self) -> int:
        """See `Estimable`."""
        return BLOCK if self._told is None else self._told.block_size

    async def close(self) -> None:
        """End all members, and relQueries under way with EngineDeadError; asked again, they start anew."""
        self._watch.stop()
        self._workflows.close()
        if self._openai is not None:
            openai, self._openai = self._openai, None
            await openai.close()
            shutil.rmtree(openai.path.parent, ignore_errors=True)
        for handout in list(self._handouts):
            handout.close(EngineDeadError(f"the fleet {self.model} was closed while it worked"))
        try:
            await self.roster.close()
        finally:
            if self._status_file is not None:
                status_file, self._status_file = self._status_file, None
                status_file.remove()


def _status_of(roster: Roster) -> FleetStatus:
    """As of now."""
    waiting = sum([holder.num_waiting for holder in roster.holders])
    members = [_member(roster, each) for each in roster.members.values()]
    return FleetStatus.here(
        model=roster.model, policy=roster.router.policy.name, queries=len(roster.holders), waiting=waiting,
        members=members,
    )  # fmt: skip


def _member(roster: Roster, member: FleetMember) -> MemberStatus:
    age_s, members = roster.age_s(member.name), roster.router.members
    reports = isfinite(age_s)
    queued = int(members["num_waiting"][members.row(member.name)]) if reports else None
    return MemberStatus(
        member.name, member.state.value, member.why, member.spec.url or member.spec.machine or "here",
        member.drained, member.silent, member.num_rows, member.num_answered, member.num_deaths, queued,
        round(age_s, 3) if reports else None, member.reason, dict(member.sent_by),
    )  # fmt: skip
