"""Awaited calls: the loop goes on, many run at once, cancelling a task aborts its requests."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pandas as pd
import polars as pl
import pytest
from frames_fixtures import echoing, listed

import relserve
from relserve.errors import RowsFailedWarning, TemplateError
from tests.waiting import Limit

FRAME = pd.DataFrame({"v": [str(i) for i in range(200)]})


def test_the_loop_goes_on_while_a_call_runs() -> None:
    async def main() -> tuple[Any, int]:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticking = asyncio.create_task(tick())
        said = await relserve.allm(FRAME, "say {v}", engine=echoing(chunk=20, pause_s=0.05))
        ticking.cancel()
        return said, ticks

    said, ticks = asyncio.run(main())
    assert listed(said) == [f"say {i}" for i in range(200)]
    assert ticks >= 20


@pytest.mark.performance
def test_many_run_at_once(limit_s: Limit) -> None:
    engine = echoing(pause_s=0.3)

    async def main() -> list[Any]:
        return await asyncio.gather(*(relserve.allm(FRAME, f"{k} {{v}}", engine=engine) for k in range(50)))

    started = time.monotonic()
    results = asyncio.run(main())
    assert time.monotonic() - started < limit_s(5, busy=15)  # one after another they take 15 s
    assert [listed(each)[7] for each in results] == [f"{k} 7" for k in range(50)]


@pytest.mark.performance
def test_cancelling_the_task_aborts_the_requests_and_the_next_call_works(
    limit_s: Limit,
) -> None:
    engine = echoing(chunk=1, pause_s=0.05)

    async def main() -> float:
        task = asyncio.create_task(relserve.allm(FRAME, "say {v}", engine=engine))
        await asyncio.sleep(0.3)
        cancelled = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        seconds = time.monotonic() - cancelled
        while not engine.aborted:
            await asyncio.sleep(0.01)
            assert time.monotonic() - cancelled < limit_s(2)
        return seconds

    assert asyncio.run(main()) < limit_s(0.2)
    assert engine.aborted > 100
    assert relserve.llm_queries().to_pylist()[-1]["state"] == "cancelled"
    assert listed(relserve.llm(FRAME[:2], "{v}", engine=engine)) == ["0", "1"]


def test_an_awaited_lazy_frame_can_be_collected() -> None:
    lazy = pl.LazyFrame({"id": [1, 2], "v": ["a", "b"]})
    rated = asyncio.run(relserve.allm(lazy, "say {v}", engine=echoing()))
    assert rated.collect()["llm"].to_list() == ["say a", "say b"]
    assert rated.collect()["llm"].to_list() == ["say a", "say b"]


def test_errors_and_warnings_come_out_of_the_await() -> None:
    async def wrong() -> None:
        await relserve.allm_filter(FRAME, "{w}")

    async def failing() -> Any:
        return await relserve.allm(FRAME, "say {v}", engine=echoing(max_prompt_chars=6))

    with pytest.raises(TemplateError, match=r"\{w\} is no column"):
        asyncio.run(wrong())
    with pytest.warns(RowsFailedWarning, match="100 of 200 rows failed and are NULL") as warned:
        asyncio.run(failing())
    told = [warning for warning in warned if warning.category is RowsFailedWarning]  # not what others leak
    assert [warning.filename for warning in told] == [__file__]
