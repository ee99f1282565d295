"""Fleets of scripted members that are slow, freeze, die and come back, as tests want them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from relserve.call.relquery import Reply, Submission
from relserve.engines.fleet.engine import FleetEngine
from relserve.engines.fleet.file import FleetFile, MemberSpec
from relserve.engines.fleet.member import Launched, known_as
from relserve.engines.protocol import Engine
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import EngineDeadError


@dataclass
class Machine:
    """What a member runs on, one batch after the other; it outlives the member's processes.

    Attributes:
        row_s: seconds of a row; `at_once` of them are answered together.
        dies_of: prompts under which it dies.
        frozen: it takes rows and says nothing.
        stops_short: it ends its next answer after the first batch, as if all had been said.
        down: it does not come up.
        identity: of its answers.
        asked: every prompt that it was asked, and how many it `answered`.
    """

    row_s: float = 0.0
    at_once: int = 8
    start_s: float = 0.0
    dies_of: Callable[[str], bool] = lambda prompt: False
    frozen: bool = False
    stops_short: bool = False
    down: str = ""
    identity: str | None = "same"
    max_num_seqs: int | None = 32
    script: Any = None
    asked: list[str] = field(default_factory=list)
    submissions: list[Submission] = field(default_factory=list)
    num_answered: int = 0
    num_aborted: int = 0
    num_starts: int = 0
    deaths: int = 0
    busy: asyncio.Lock = field(default_factory=asyncio.Lock)
    _die: asyncio.Event = field(default_factory=asyncio.Event)

    def die(self) -> None:
        """As by kill -9; it may be started again at once."""
        self.deaths += 1
        self._die.set()
        self._die = asyncio.Event()


class MachineEngine:
    """The engine of a member on a machine; it dies with it, and is not started again by itself."""

    def __init__(self, machine: Machine) -> None:
        self.machine, self.model = machine, "scripted"
        self._scripted = ScriptedEngine(remembers=False)
        if machine.script is not None:
            self._scripted.script = machine.script
        self._dead = machine._die

    async def fingerprint(self) -> str | None:
        if self._dead.is_set():
            raise EngineDeadError("the member died")
        return self.machine.identity

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        machine, done = self.machine, 0
        machine.asked += submission.prompts
        machine.submissions.append(submission)
        try:
            while done < len(submission.prompts):
                rows = range(done, min(done + machine.at_once, len(submission.prompts)))
                async with machine.busy:
                    await self._work(len(rows) * machine.row_s)
                if any(machine.dies_of(submission.prompts[row]) for row in rows):
                    machine.die()
                    raise EngineDeadError("the member died of a row")
                replies = [self._scripted._reply(row, submission.prompts[row], submission) for row in rows]
                done = rows.stop
                machine.num_answered += len(replies)
                yield replies
                if machine.stops_short:
                    machine.stops_short = False
                    return
        finally:
            machine.num_aborted += len(submission.prompts) - done

    async def _work(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        ends = loop.time() + seconds
        while self.machine.frozen or loop.time() < ends:
            left_s = 3600.0 if self.machine.frozen else ends - loop.time()
            try:
                await asyncio.wait_for(self._dead.wait(), min(left_s, 0.02))
            except TimeoutError:
                continue
            break
        if self._dead.is_set():
            raise EngineDeadError("the member died")
        await asyncio.sleep(0)

    async def close(self) -> None:
        """Nothing to free."""


class Machines:
    """The launcher of scripted members, by name."""

    def __init__(self, **machines: Machine) -> None:
        self.machines = machines

    async def start(self, spec: MemberSpec) -> Launched:
        machine = self.machines[spec.name]
        machine.num_starts += 1
        await asyncio.sleep(machine.start_s)
        if machine.down:
            raise EngineDeadError(machine.down)
        known = known_as(spec)
        engine = MachineEngine(machine)
        return Launched(engine, machine.identity, known, machine.max_num_seqs, machine.identity)

    async def ping(self, engine: Engine) -> bool:
        return True

    async def stop(self, spec: MemberSpec, engine: Engine) -> None:
        await engine.close()


def fleet_of(said: list[str] | None = None, dispatch: str = "predicted", **machines: Machine) -> FleetEngine:
    """A fleet of scripted members."""
    launcher = Machines(**machines)
    file = FleetFile(Path("fleet.toml"), tuple(MemberSpec(name) for name in machines), dispatch=dispatch)
    announce = (lambda _: None) if said is None else said.append
    return FleetEngine("fleet", file, lambda _: launcher, announce=announce)
