"""The server's own log: whatever a client sends, it begins no line of it, and moves no terminal's cursor."""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Callable

FORMAT, DATES = "%(asctime)s relserve: %(message)s", "%F %T"
_UNPRINTABLE = re.compile(  # control characters, other ends of lines, and what turns the writing around
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_INDENT = "    "
MOST, WINDOW_S = 100, 60.0  # records of one place in the code that are written, and in which time


class OneLine(logging.Formatter):
    """A record as one line, with every line of a traceback indented below it."""

    def __init__(self) -> None:
        super().__init__(FORMAT, DATES)

    def format(self, record: logging.LogRecord) -> str:
        """See logging.Formatter."""
        record.message = plain(record.getMessage())
        if self.usesTime():
            record.asctime = self.formatTime(record, self.datefmt)
        text = self.formatMessage(record)
        below = [self.formatException(record.exc_info)] if record.exc_info else []
        below += [record.stack_info] if record.stack_info else []
        lines = [line for each in below for line in each.split("\n")]
        return "\n".join([text, *(_INDENT + plain(line) for line in lines)])


class FewOfEach(logging.Filter):
    """Leaves out what one place in the code says on and on, so that who is refused at speed fills no disk."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._windows: dict[tuple[str, int], tuple[float, int]] = {}  # when each began, and its records

    def filter(self, record: logging.LogRecord) -> bool:
        """See logging.Filter."""
        place, now = (record.pathname, record.lineno), self._clock()
        begun, count = self._windows.get(place, (now, 0))
        more = ""
        if now - begun >= WINDOW_S:
            more = f" ({count - MOST:,} more lines like this were left out)" if count > MOST else ""
            begun, count = now, 0
        self._windows[place] = begun, count + 1
        if count + 1 == MOST:
            more += f" (more lines like this are left out for {WINDOW_S:g} s)"
        if more:
            record.msg, record.args = f"{record.getMessage()}{more}", ()
        return count < MOST


def log_to_stderr() -> None:
    """Have this process log so."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine())
    handler.addFilter(FewOfEach())
    logging.basicConfig(handlers=[handler])
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # what it cannot translate, DuckDB tells, too


def plain(text: str) -> str:
    """A text with its unprintable characters written out, as \\n."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)
