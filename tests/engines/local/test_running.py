"""What is known of an engine that ended: whether by itself or on purpose."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from relserve.engines.local import running as running_file
from relserve.engines.local.running import RunningEngine


class Process:
    """A process that has ended."""

    pid, exitcode = 1, -9
    alive = False

    def is_alive(self) -> bool:
        return self.alive

    def kill(self) -> None:
        self.alive = False

    def join(self, timeout_s: float) -> None:
        """Nothing is left to wait for."""


def running() -> RunningEngine:
    config = SimpleNamespace(
        model_config=SimpleNamespace(max_model_len=64),
        parallel_config=SimpleNamespace(data_parallel_size=1),
        scheduler_config=SimpleNamespace(max_num_seqs=8),
    )
    client: Any = SimpleNamespace(
        get_tokenizer=lambda: SimpleNamespace(chat_template=None),
        vllm_config=config,
        shutdown=lambda timeout: None,
    )
    process: Any = Process()
    return RunningEngine(client, process)


def test_a_dead_engine_that_is_cleared_away_was_not_closed() -> None:
    """A query that notices the death only then goes on with the next engine."""
    engine = running()
    engine.mark_dead("killed")
    engine.stop(0.1)
    assert not engine.closed


def test_an_engine_that_is_stopped_while_it_lives_was_closed() -> None:
    engine = running()
    engine.stop(0.1)
    assert engine.closed


def test_the_process_ends_though_vllms_client_never_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen once: a client that waited for a thread of its own kept the program from ending."""
    monkeypatch.setattr(running_file, "CLIENT_S", 0.05)
    engine, waits = running(), threading.Event()
    process: Any = engine._process
    process.alive = True
    engine.client.shutdown = lambda timeout: waits.wait()
    engine.stop(0.05)
    assert not process.alive
    waits.set()
