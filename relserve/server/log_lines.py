"""The server's own log: whatever a client sends, it begins no line of it, and moves no terminal's cursor."""

from __future__ import annotations

import logging
import re
import sys

FORMAT, DATES = "%(asctime)s relserve: %(message)s", "%F %T"
_UNPRINTABLE = re.compile(  # control characters, other ends of lines, and what turns the writing around
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_INDENT = "    "


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


def log_to_stderr() -> None:
    """Have this process log so."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine())
    logging.basicConfig(handlers=[handler])
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # what it cannot translate, DuckDB tells, too


def plain(text: str) -> str:
    """A text with its unprintable characters written out, as \\n."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)
