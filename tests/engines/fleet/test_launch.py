"""Launchers leave nothing behind of what was given up."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asking import TIMEOUT_S

from relserve.engines.fleet import launch
from relserve.engines.fleet.file import MemberSpec
from relserve.engines.fleet.launch import LocalLauncher
from relserve.engines.fleet.state_channel import StateChannel
from relserve.engines.loop import spawn


class Engine:
    """It stands still where it is told to."""

    stands_at = ""
    made: list[Engine] = []  # noqa: RUF012

    def __init__(self, *_: Any, **__: Any) -> None:
        self.stands, self.is_closed = asyncio.Event(), False
        self.made.append(self)

    async def start(self) -> None:
        await self._pass("start")

    async def fingerprint(self) -> str:
        await self._pass("fingerprint")
        return "same"

    async def _pass(self, place: str) -> None:
        if place == self.stands_at:
            self.stands.set()
            await asyncio.Event().wait()

    async def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize("place", ["start", "fingerprint"])
def test_a_start_that_is_cancelled_leaves_no_engine(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setattr(launch, "LocalEngine", Engine)
    monkeypatch.setattr(Engine, "stands_at", place)
    monkeypatch.setattr(Engine, "made", [])

    async def cancelled() -> bool:
        channel = StateChannel(lambda *_: True)
        launcher = LocalLauncher("m", "folder", {}, lambda _: None, channel)
        starting = asyncio.ensure_future(launcher.start(MemberSpec("a")))
        while not Engine.made:
            await asyncio.sleep(0.01)
        (engine,) = Engine.made
        await engine.stands.wait()
        starting.cancel()
        await asyncio.wait([starting])
        await asyncio.sleep(0.05)
        assert starting.cancelled()
        return engine.is_closed

    assert spawn(cancelled()).result(TIMEOUT_S)
