"""The log of statements: one line of JSON for each, with what it cost, and its text only if asked for."""

from __future__ import annotations

import json
import threading
from datetime import datetime, timezone
from typing import NamedTuple, TextIO


class LogEntry(NamedTuple):
    """One statement as it ended.

    Attributes:
        started: Unix time.
        seconds: until its last row had been sent.
        tokens: of prompts and replies that it asked an engine for.
        sqlstate: None where it succeeded.
    """

    started: float
    user: str
    address: str
    pid: int
    seconds: float
    rows: int
    tokens: int
    sqlstate: str | None
    text: str


class StatementLog:
    """Writes entries. Safe for several threads.

    Args:
        file: where to.
        with_texts: whether the statements' texts, which may hold users' data, are written.
    """

    def __init__(self, file: TextIO, with_texts: bool) -> None:
        self._file, self._with_texts = file, with_texts
        self._lock = threading.Lock()

    def write(self, entry: LogEntry) -> None:
        """Write one line, at once."""
        fields = entry._asdict()
        started = datetime.fromtimestamp(fields.pop("started"), timezone.utc)
        text = fields.pop("text")
        line = {"time": started.isoformat(timespec="milliseconds"), **fields}
        line["seconds"] = round(entry.seconds, 6)
        if self._with_texts:
            line["text"] = text
        with self._lock:
            self._file.write(json.dumps(line) + "\n")
            self._file.flush()
