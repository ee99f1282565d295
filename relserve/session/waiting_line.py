"""Lines on a terminal while there is nothing to count: what is waited for, and since when."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
EVERY_S = 0.1  # between two frames


@contextmanager
def loading_line(what: str) -> Iterator[None]:
    """Show at once what a command does before it can do anything else; gone at the end.

    A thread that moved it would get no turn beside imports, and importing tqdm would delay them.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    sys.stderr.write(f"{what} ...")
    sys.stderr.flush()
    try:
        yield
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


@contextmanager
def waiting_line(what: str, delay_s: float) -> Iterator[Callable[[], None]]:
    """Show on stderr, where it is a terminal, a line that moves; it is gone at the end.

    Args:
        what: is waited for.
        delay_s: nothing is shown of what takes less.

    Yields:
        What ends the line sooner; it may be called again.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda: None
        return
    ended = threading.Event()
    thread = threading.Thread(target=_show, args=(what, delay_s, ended), daemon=True, name="relserve waits")

    def end() -> None:
        ended.set()
        thread.join()

    thread.start()
    try:
        yield end
    finally:
        end()


def _show(what: str, delay_s: float, ended: threading.Event) -> None:
    started_s = time.monotonic()
    if ended.wait(delay_s):
        return
    from tqdm import tqdm  # whose write() keeps notices and this line apart

    frames = cycle(FRAMES if (sys.stderr.encoding or "").lower().startswith("utf") else "|/-\\")
    with tqdm(bar_format="{desc}", leave=False, file=sys.stderr) as line:
        while True:
            line.set_description_str(f"{next(frames)} {what}, {time.monotonic() - started_s:.0f} s")
            if ended.wait(EVERY_S):
                return
