"""Terminals for tests: tmux, which has a screen to look at, and a bare pseudo-terminal, which has none."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Mapping
from typing import Protocol

from tests.waiting import wait_until

WIDTH, HEIGHT = 100, 30
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[a-zA-Z]|\][^\x07]*\x07|[=>78])|\r")
LEFT = "left with"
# The terminal becomes the one whose Ctrl-C the program gets.
_CONTROLLING = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""


class Terminal(Protocol):
    """Somewhere a program runs and somebody types."""

    def type(self, text: str) -> None:
        """Type a text; control characters are keys."""

    def seen(self) -> str:
        """The screen; where there is none, all that was written so far."""

    def close(self) -> None:
        """End it, and what runs in it."""


def expect(terminal: Terminal, text: str) -> str:
    """Wait until a text is to be seen; what is seen then."""
    seen = ""

    def has_come() -> bool:
        nonlocal seen
        seen = terminal.seen()
        return text in seen

    try:
        wait_until(has_come)
    except AssertionError as error:
        raise AssertionError(f"{text!r} is not to be seen in:\n{seen}") from error
    return seen


def _script(command: list[str]) -> list[str]:
    return ["sh", "-c", f"trap : INT; {shlex.join(command)}; echo {LEFT} $?; exec sleep 600"]


class Tmux:
    """A pane of a tmux server of its own."""

    def __init__(self, command: list[str], environ: Mapping[str, str]) -> None:
        self._folder = tempfile.mkdtemp(prefix="tmux")  # short: the path of a socket has little room
        size = ["-x", str(WIDTH), "-y", str(HEIGHT)]
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, *_script(command), environ=environ)

    def type(self, text: str) -> None:
        keys = [format(byte, "02x") for byte in text.encode()]
        self._tmux("send-keys", "-H", *keys)

    def seen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def close(self) -> None:
        self._tmux("kill-server")
        shutil.rmtree(self._folder)

    def _tmux(self, *arguments: str, environ: Mapping[str, str] | None = None) -> str:
        command = ["tmux", "-S", f"{self._folder}/s", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=environ)
        return done.stdout


class Pty:
    """A pseudo-terminal whose output is kept without its escape sequences."""

    def __init__(self, command: list[str], environ: Mapping[str, str]) -> None:
        self._terminal, inner = pty.openpty()
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CONTROLLING, *_script(command)],
            stdin=inner, stdout=inner, stderr=inner, env=dict(environ), start_new_session=True,
        )  # fmt: skip
        os.close(inner)
        self._written = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def seen(self) -> str:
        return _ESCAPE.sub("", self._written.decode(errors="replace"))

    def close(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(timeout=60)
        self._reader.join(timeout=60)
        os.close(self._terminal)

    def _read(self) -> None:
        try:
            while some := os.read(self._terminal, 65536):
                self._written += some
        except OSError:
            pass  # nobody holds the other end any more
