"""Engines start beside each other as soon as the first one's process is there, where that is safe."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Mapping
from multiprocessing.process import BaseProcess
from types import SimpleNamespace
from typing import Any

import pytest

from relserve.engines.local import start
from tests.waiting import PATIENCE_S, wait_until

FEW_S = 0.3


class Starts:
    """A stand-in for vLLM's part: it starts a process, as vLLM does, and then loads for as long as is told.

    Attributes:
        seen: what each process's environment has in VARIABLE, in the order of their starts.
    """

    def __init__(self) -> None:
        self.go_on, self.seen = threading.Event(), list[str]()

    def __call__(self, arguments: Mapping[str, Any], logger: type, forks: bool) -> None:
        self.seen.append(os.environ["VARIABLE"])
        MadeUpProcess(name="EngineCore").start()
        self.go_on.wait(PATIENCE_S)
        raise InterruptedError


class MadeUpProcess(BaseProcess):
    """None at all: one that was forked off a thread of this process might end in its libraries."""

    @staticmethod
    def _Popen(process: BaseProcess) -> Any:
        return SimpleNamespace(sentinel=0, poll=lambda: 0)


@pytest.mark.cells(2)
@pytest.mark.parametrize(
    ("on_cpu", "given", "arguments", "beside"),
    [
        (True, {}, {}, True),
        (False, {"CUDA_VISIBLE_DEVICES": "1"}, {}, True),
        (False, {}, {}, False),
        (True, {}, {"data_parallel_size": 2}, False),
    ],
)
def test_the_second_starts_while_the_first_loads(
    monkeypatch: pytest.MonkeyPatch, on_cpu: bool, given: dict[str, str], arguments: dict[str, Any],
    beside: bool,
) -> None:  # fmt: skip
    starts = Starts()
    monkeypatch.setattr(start.engines, "start_client", starts)
    monkeypatch.setattr(start, "arguments_of", lambda path, engine_args: arguments)
    monkeypatch.setattr(start, "variables_of", lambda path, arguments: {})
    monkeypatch.setattr(start.host, "runs_on_cpu", lambda: on_cpu)
    monkeypatch.setattr(start, "_statistics_logger", lambda: object)

    def launch(name: str) -> None:
        with pytest.raises(InterruptedError):
            start.launch("model", {}, None, given={**given, "VARIABLE": name})

    threads = [threading.Thread(target=launch, args=(name,)) for name in ("a", "b")]
    threads[0].start()
    wait_until(lambda: starts.seen)
    threads[1].start()
    if beside:
        wait_until(lambda: starts.seen == ["a", "b"])
    else:
        time.sleep(FEW_S)
        assert starts.seen == ["a"]
    starts.go_on.set()
    for thread in threads:
        thread.join()
    assert starts.seen == ["a", "b"]
    assert "VARIABLE" not in os.environ
    assert multiprocessing.process.BaseProcess.start.__module__ == "multiprocessing.process"
