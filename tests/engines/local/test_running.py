"""What is known of an engine that ended: whether by itself or on purpose."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from relserve.engines.local.running import RunningEngine


class Process:
    """A process that has ended."""

    pid, exitcode = 1, -9

    def is_alive(self) -> bool:
        return False

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
