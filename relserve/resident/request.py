"""One message of DuckDB's extension, and the way back to whoever sent it."""

from __future__ import annotations

import json
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from relserve_duckdb.udf.statement_run import StatementRun

from relserve.errors import EngineError
from relserve.resident.columns import ColumnReader
from relserve.session.history import QueryRecord
from relserve.session.progress import DELAY_S, Progress, words

SHOW_EVERY_S = 0.2  # between two looks at how far a relQuery is


class ResidentRequest:
    """One message, and the way back to its socket.

    Attributes:
        asked: what it asks: the JSON at its beginning.
    """

    def __init__(self, message: bytes, tell: Callable[[str, str], None], shows_progress: bool) -> None:
        self._message, self._tell, self._shows_progress = message, tell, shows_progress
        self._cancelled = threading.Event()
        self._run: StatementRun | None = None
        self.asked: dict[str, Any] = {}
        self._position = 0

    def read(self) -> None:
        """Read what is asked.

        Raises:
            EngineError: it is no message of the extension.
        """
        try:
            (size,) = struct.unpack_from("<I", self._message)
            self._position = 4 + size
            self.asked = dict(json.loads(self._message[4 : self._position]))
        except (struct.error, ValueError, TypeError) as error:
            raise EngineError(f"DuckDB's extension sent no message of this release: {error}") from error

    def columns(self) -> ColumnReader:
        """The columns behind what is asked."""
        return ColumnReader(self._message, self._position, str(self.asked.get("zone", "")))

    def cancel(self) -> None:
        """The client has gone: stop its whole statement."""
        self._cancelled.set()
        if self._run is not None:
            self._run.cancel.set()

    def belongs_to(self, run: StatementRun) -> None:
        """The request is part of a statement, and is cancelled with it."""
        self._run = run
        if self._cancelled.is_set():
            run.cancel.set()

    def notice(self, text: str) -> None:
        """Tell the client's user a line."""
        self._tell("N", text)

    @contextmanager
    def progress(self) -> Iterator[Progress | None]:
        """Shows on the client's terminal how far a relQuery is; None: nobody looks."""
        if not self._shows_progress:
            yield None
            return
        shown_s = time.monotonic() + DELAY_S - SHOW_EVERY_S

        def show(record: QueryRecord) -> None:
            nonlocal shown_s
            if time.monotonic() - shown_s >= SHOW_EVERY_S:
                shown_s = time.monotonic()
                self._tell("P", words(record, None))

        yield show
