"""The engine loop and forks."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from relserve.engines import loop
from tests.waiting import PATIENCE_S

CALL = "print(len(relserve.llm(frame, 'Say {i}', model='scripted', progress=False)), flush=True)"
SCRIPT = """
import os
import pandas
import relserve

frame = pandas.DataFrame({{"i": [1, 2, 3]}})
{before}
child = os.fork()
if child == 0:
    try:
        {call}
    except relserve.EngineError as error:
        print(error, flush=True)
    os._exit(0)  # as multiprocessing's children end
assert os.waitpid(child, 0)[1] == 0
{call}
"""


def forked(before: str) -> list[str]:
    """What a script says that forks, after `before`, and then asks in the child and in the parent."""
    code = SCRIPT.format(before=before, call=CALL)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def test_a_child_forked_after_use_is_told_instead_of_left_waiting() -> None:
    before, child, after = forked(CALL)
    assert before == after == "3"
    assert "before this process was forked" in child
    assert "get_context('spawn')" in child


@pytest.mark.long
def test_a_child_forked_before_use_works() -> None:
    assert forked("") == ["3", "3"]


CANCELLED = """
import asyncio
from relserve.engines.loop import spawn

async def work():
    try:
        started.set()
        await asyncio.sleep(600)
    finally:
        for _ in range(3):
            await asyncio.gather(asyncio.sleep(0.05))
        print("ended", flush=True)

async def waiting():
    await started.wait()

started = asyncio.Event()
working = spawn(work())
spawn(waiting()).result()
working.cancel()
"""


def test_what_was_cancelled_ends_in_order_before_the_program_does() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CANCELLED], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


class SlowToStart(threading.Thread):
    def start(self) -> None:
        time.sleep(0.2)
        super().start()


def test_two_threads_that_come_first_share_one_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_loop": None, "_thread": None, "_owner": 0}.items():
        monkeypatch.setattr(loop, name, value)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(time.sleep, [0.01, 0.01]))  # its threads are there
        monkeypatch.setattr(loop, "threading", SimpleNamespace(Thread=SlowToStart))
        first, second = pool.map(lambda _: loop.engine_loop(), range(2))
    assert first is second
    first.call_soon_threadsafe(first.stop)


def test_the_end_of_a_dead_engines_sockets_is_no_news(caplog: pytest.LogCaptureFixture) -> None:
    zmq = pytest.importorskip("zmq", reason="vLLM is not installed")
    running = loop.engine_loop()

    async def fail_with(error: Exception) -> None:
        asyncio.get_running_loop().call_exception_handler({"message": "in a callback", "exception": error})

    for error in (zmq.ContextTerminated(), ValueError("wrong")):
        asyncio.run_coroutine_threadsafe(fail_with(error), running).result(timeout=PATIENCE_S)
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ValueError]
