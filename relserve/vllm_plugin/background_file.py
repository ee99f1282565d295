"""A file that a thread of its own writes, so that a slow or full disk costs no step anything."""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from pathlib import Path

from relserve.machine.private_files import write_private

logger = logging.getLogger(__name__)

CLOSE_S = 0.5  # how long the engine's end may wait for the disk
EVERY_S = 10.0  # what engines learn is written at most so often
STALE_S = 3600.0  # an unfinished file that is older was left behind by a process that was killed

_numbers = itertools.count(1)

MakeText = Callable[[], str]


class BackgroundFile:
    """Writes the latest text to a file; failures are logged once and otherwise ignored.

    Args:
        path: replaced at once, so that nobody reads half of it.
        every_s: it is written at most once in so many seconds.
        unfinished: the file that is written before it takes the place of `path`; nobody else's.
        warning: what it means that it cannot be written.
        keeps: whether the file stays, with the latest text, when this ends; else it is removed.
    """

    def __init__(self, path: Path, every_s: float, unfinished: Path, warning: str, keeps: bool) -> None:
        self.path = path
        self._writer = _Writer(path, every_s, unfinished, warning, keeps)
        # Also at the interpreter's end, and for a scheduler that was never shut down.
        self._end = weakref.finalize(self, self._writer.close)
        threading.Thread(target=self._writer.run, name=f"relserve-{path.parent.name}", daemon=True).start()

    def put(self, make_text: MakeText) -> None:
        """Have this written, in place of what was put before and is not written yet; takes microseconds.

        Args:
            make_text: called by the writing thread.
        """
        self._writer.latest.append(make_text)
        self._writer.news.set()

    def close(self) -> None:
        """Write no more, and wait a moment until the file is as it is to stay."""
        self._end()


def kept_file(path: Path | None, every_s: float, warning: str) -> BackgroundFile | None:
    """A file that outlives the engine, beside those of other engines that write the same.

    Args:
        path: None: there is none.
        every_s, warning: see `BackgroundFile`.

    Returns:
        None also where no thread can be started: engines serve all the same.
    """
    if path is None:
        return None
    _remove_unfinished(path)
    unfinished = path.with_name(f"{path.stem}.{os.getpid()}-{next(_numbers)}.tmp")
    with contextlib.suppress(Exception):
        return BackgroundFile(path, every_s, unfinished, warning, keeps=True)
    return None


def _remove_unfinished(path: Path) -> None:
    """Remove what killed processes left of a file that they were writing."""
    with contextlib.suppress(OSError):
        for left in path.parent.glob(f"{path.stem}.*.tmp"):
            if time.time() - left.stat().st_mtime > STALE_S:
                left.unlink(missing_ok=True)


class _Writer:
    """What the scheduler's thread and the writing thread share."""

    def __init__(self, path: Path, every_s: float, unfinished: Path, warning: str, keeps: bool) -> None:
        self.path, self.every_s, self.unfinished = path, every_s, unfinished
        self.warning, self.keeps = warning, keeps
        self.latest: deque[MakeText] = deque(maxlen=1)  # appended to and popped by different threads
        self.news, self.closing, self.closed = threading.Event(), threading.Event(), threading.Event()
        self._has_failed = False

    def run(self) -> None:
        """Write what comes, at most once in `every_s`."""
        while not self.closing.is_set():
            self.news.wait()
            self.news.clear()
            if not self.closing.is_set():
                self._write()
                self.closing.wait(self.every_s)
        if self.keeps:
            self._write()
        else:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)
        self.closed.set()

    def _write(self) -> None:
        if not self.latest:
            return
        make_text = self.latest.pop()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_private(self.unfinished, make_text())
            os.replace(self.unfinished, self.path)
        except Exception as error:  # of any kind: it must not reach the engine's log as a traceback
            if not self._has_failed:
                logger.warning("%s: %s", self.warning, error)
            self._has_failed = True
            with contextlib.suppress(OSError):
                self.unfinished.unlink(missing_ok=True)

    def close(self) -> None:
        self.closing.set()
        self.news.set()
        self.closed.wait(CLOSE_S)
