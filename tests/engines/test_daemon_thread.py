"""Work on threads that a loop waits for."""

from __future__ import annotations

import asyncio
import threading

from relserve.engines.daemon_thread import to_its_end
from tests.waiting import PATIENCE_S


def test_who_is_cancelled_waits_for_the_end_of_the_work():
    begun, may_end, ended = threading.Event(), threading.Event(), []

    def work() -> None:
        begun.set()
        may_end.wait(PATIENCE_S)
        ended.append(True)

    async def scene() -> list[bool]:
        task = asyncio.create_task(to_its_end(work))
        await asyncio.to_thread(begun.wait, PATIENCE_S)
        task.cancel()
        await asyncio.sleep(0.01)
        assert not task.done()
        may_end.set()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        return list(ended)

    assert asyncio.run(scene()) == [True]
