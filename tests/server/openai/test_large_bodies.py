"""Bodies that take long to read."""

from __future__ import annotations

import asyncio
import time

import pytest

from relserve.server.openai import gateway
from relserve.server.openai.asked import CHAT
from relserve.server.page.counters import Counters
from relserve.server.users.quota import Quota
from relserve.server.users.salts import Salts
from tests.server.openai.scripted_upstream import ScriptedUpstream


def test_between_two_large_bodies_others_have_a_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """To read one takes a part of a second; many at once would hold up all clients of the server."""
    turns, at_each = 0, []

    async def scene() -> None:
        nonlocal turns
        one = gateway.Gateway(ScriptedUpstream(), None, Quota(time.monotonic), Counters(), Salts(None))
        reading = [asyncio.create_task(one._read(CHAT, bytes(11), gateway.ANYBODY)) for _ in range(3)]
        while not all(task.done() for task in reading):
            turns += 1
            await asyncio.sleep(0)

    monkeypatch.setattr(gateway, "LARGE", 10)
    monkeypatch.setattr(gateway, "read_asked", lambda *_: at_each.append(turns))
    asyncio.run(scene())
    assert len(set(at_each)) == 3
