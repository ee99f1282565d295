"""A Ctrl-C that comes in a finalizer is not lost; other errors there are told as ever."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import os, signal, sys, time
from relserve.cli.ignored import send_ignored_ctrl_c_again

class Closing:
    def __del__(self):
        if sys.argv[1] == "ctrl-c":
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):  # the handler runs between two of these
                pass
        else:
            raise ValueError("told")

send_ignored_ctrl_c_again()
try:
    closing = Closing()
    del closing
    if sys.argv[1] == "ctrl-c":
        time.sleep(300)
    print("went on")
except KeyboardInterrupt:
    print("interrupted")
"""


def run(what: str) -> tuple[str, str]:
    done = subprocess.run([sys.executable, "-c", SCRIPT, what], capture_output=True, text=True, timeout=60)
    return done.stdout, done.stderr


def test_ctrl_c_in_a_finalizer_interrupts_what_follows() -> None:
    assert run("ctrl-c") == ("interrupted\n", "")


def test_other_errors_in_finalizers_are_told() -> None:
    out, err = run("another")
    assert out == "went on\n"
    assert "ValueError: told" in err
