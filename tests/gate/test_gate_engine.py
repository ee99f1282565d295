"""The gate before a real engine: rows in instalments, cancelling, deadlines, what is seen.

The shares of users are in test_overload.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial

import pytest

import relserve
from relserve.call.relquery import Sampling, Submission, new_rel_id
from relserve.call.standing import Standing
from relserve.engines.local.engine import LocalEngine
from relserve.engines.loop import spawn
from relserve.errors import FailureKind
from relserve.gate.made import make_gate
from relserve.machine.engine_status import state_dir
from relserve.machine.gate_status import read_gates
from relserve.session.pending_replies import PendingReplies
from relserve.tiny import MODEL_DIR
from relserve.vllm_plugin.settings import FIRST_GUESS
from tests.waiting import PATIENCE_S, act_when, wait_until

pytestmark = [pytest.mark.vllm, pytest.mark.engine_of_its_own]

ROWS_AT_ONCE = 16


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    pytest.importorskip("vllm", reason="vLLM is not installed")
    made = LocalEngine("tiny", str(MODEL_DIR), engine_args={"max_num_seqs": ROWS_AT_ONCE})
    spawn(made.start()).result(timeout=120)
    yield made
    spawn(made.close()).result(timeout=60)


def behind(engine: LocalEngine, admission: str) -> LocalEngine:
    """The engine with a fresh gate."""
    engine.gate = make_gate(admission, model="tiny", cost=lambda: FIRST_GUESS)
    engine.gate.fits(ROWS_AT_ONCE)
    return engine


def submission(rows: int, user: str | None = None, limit_s: float | None = None, **how: object) -> Submission:
    prompts = [f"Was guest {i} of {user} happy with the soup? Say why." for i in range(rows)]
    sampling = Sampling(**{"max_tokens": 16, "temperature": 1.0, "seed": 3, **how})  # type: ignore[arg-type]
    ends_s = None if limit_s is None else time.time() + limit_s
    return Submission(new_rel_id(), prompts, sampling, user=user, deadline_s=ends_s, kind="soup")


def is_idle(engine: LocalEngine) -> bool:
    return engine.gate._queue is not None and engine.gate._queue.is_idle


def num_running(engine: LocalEngine) -> int:
    return engine.num_unfinished


def test_rows_behind_a_gate_give_the_same_answers(engine: LocalEngine) -> None:
    asked = submission(60, temperature=0.0)
    plain = PendingReplies(behind(engine, "off"), asked).result()
    for admission in ("static-4", "in_time", "saber"):
        its = behind(engine, admission)
        gated = PendingReplies(its, asked).result()
        assert [(r.index, r.text) for r in gated] == [(r.index, r.text) for r in plain], admission
        wait_until(partial(is_idle, its))


def test_no_more_rows_run_than_the_gate_allows(engine: LocalEngine) -> None:
    pending = PendingReplies(behind(engine, "static-4"), submission(100))
    most = 0
    for _ in pending:
        most = max(most, num_running(engine))
    assert 1 <= most <= 4


def test_a_cancelled_relquery_gives_its_places_to_the_next(engine: LocalEngine) -> None:
    its = behind(engine, "static-4")
    first = PendingReplies(its, submission(500, max_tokens=200))
    wait_until(lambda: num_running(its) == 4)
    second = PendingReplies(its, submission(5))
    first.cancel()
    assert len(second.result()) == 5
    assert its.gate._queue is not None
    wait_until(lambda: its.gate._queue.is_idle)  # type: ignore[union-attr]


def test_rows_that_wait_at_their_deadline_are_failures_of_that_kind(engine: LocalEngine) -> None:
    its = behind(engine, "static-1")
    busy = PendingReplies(its, submission(500, max_tokens=400))
    wait_until(lambda: num_running(its) == 1)
    late = PendingReplies(its, submission(400, limit_s=0.5)).result()
    assert len(late) == 400
    assert late[-1].failure is not None
    assert late[-1].failure.kind is FailureKind.DEADLINE
    busy.cancel()


def test_what_waits_is_told_and_seen(engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    its, heard = behind(engine, "static-2"), list[Standing]()
    pending = PendingReplies(its, submission(3000, "ann"), told=heard.append)
    wait_until(lambda: len(heard) > 4 and read_gates(state_dir()))
    (gate,) = read_gates(state_dir())
    (user,) = gate.users
    assert (gate.model, gate.policy, user.user) == ("tiny", "static-2", "ann")
    assert 1 <= user.running <= 2
    assert user.waiting > 100
    pending.cancel()
    assert heard[0].num_waiting > heard[-1].num_waiting > 0
    assert heard[-1].estimate_s is not None


def test_a_relquery_has_its_estimate_on_record_while_it_waits(engine: LocalEngine) -> None:
    con = relserve.connect(engine=behind(engine, "static-2"), progress=False, cache=False)
    seen: list[tuple[int, float]] = []

    def looked() -> bool:
        (row,) = con.session.history.query_rows() or [{}]
        if row.get("waiting_rows") and row["estimate_s"]:
            seen.append((row["waiting_rows"], row["estimate_s"]))
        return bool(seen)

    looking = act_when(looked, lambda: None)
    con.execute("SELECT llm('Say more of {}', 'n' || i::VARCHAR) FROM range(200) t(i)").fetchall()
    looking.join(PATIENCE_S)
    assert seen
    (row,) = con.session.history.query_rows()
    assert (row["waiting_rows"], row["estimate_s"], row["state"]) == (0, None, "done")


def test_an_engine_that_turns_ten_times_slower_is_followed_within_30_seconds(engine: LocalEngine) -> None:
    """Its process is stopped for nine tenths of the time."""
    its = behind(engine, "static-8")
    pending = PendingReplies(its, submission(20_000, max_tokens=60))
    assert its.gate._queue is not None
    curve, pid = its.gate._queue.controller.curve, its.pid
    assert pid is not None
    wait_until(lambda: len(curve.samples) >= 24)

    def speed() -> float:
        return 0.0 if curve.curve is None else curve.curve.speed(8)

    before, is_over = speed(), threading.Event()

    def slow_down() -> None:
        while not is_over.is_set():
            os.kill(pid, signal.SIGSTOP)
            time.sleep(0.09)
            os.kill(pid, signal.SIGCONT)
            time.sleep(0.01)

    slowing = threading.Thread(target=slow_down)
    slowing.start()
    try:
        wait_until(lambda: speed() < before / 4)
    finally:
        is_over.set()
        slowing.join()
    wait_until(lambda: speed() > before / 2)
    pending.cancel()
