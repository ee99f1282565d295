"""Ctrl-C while something runs: it is interrupted until it ends, and left when it never does."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from relserve.cli.shell.shell import STUCK, run_cancellable
from tests.waiting import PATIENCE_S, act_when

DEAF = """
import time
from relserve.cli.shell.shell import run_cancellable
run_cancellable(lambda: print("at work", flush=True) or time.sleep(600), lambda: None)
"""


def test_an_interrupt_is_sent_until_the_work_ends() -> None:
    started, interrupts, enough = threading.Event(), list[int](), threading.Event()

    def interrupt() -> None:
        interrupts.append(1)
        if len(interrupts) == 3:
            enough.set()

    def work() -> str:
        started.set()
        assert enough.wait(PATIENCE_S)
        return "done"

    former = signal.getsignal(signal.SIGINT)
    act_when(started.is_set, lambda: os.kill(os.getpid(), signal.SIGINT))
    assert run_cancellable(work, interrupt) == "done"
    assert len(interrupts) >= 3
    assert signal.getsignal(signal.SIGINT) is former


def test_without_ctrl_c_nothing_is_interrupted() -> None:
    def fail() -> None:
        raise ValueError("its own error")

    with pytest.raises(ValueError, match="its own error"):
        run_cancellable(fail, lambda: pytest.fail("interrupted"))


@pytest.mark.long
def test_what_cannot_be_cancelled_is_left_after_three_presses() -> None:
    with subprocess.Popen([sys.executable, "-c", DEAF], stdout=-1, stderr=-1, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.readline() == "at work\n"
        running.send_signal(signal.SIGINT)
        assert [running.stderr.readline() for _ in range(2)] == ["\n", STUCK.lstrip() + "\n"]
        assert running.poll() is None
        running.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(timeout=0.5)
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=PATIENCE_S) == 130
