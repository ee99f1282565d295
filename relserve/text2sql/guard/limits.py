"""How long, large and wide generated SQL may get, and the thread that ends it at a limit.

DuckDB's own `memory_limit` and `max_temp_directory_size` hold for all connections of a database, and are the
user's; besides, DuckDB counts little of the memory that strings and lists take. So the process is looked at:
what its memory grows by while the statement runs, less the blocks of tables that DuckDB keeps since then.
Other work of the process counts too; where there is much of it, raise `memory_mb`.

DuckDB looks at an interrupt between chunks of rows. What one chunk asks for is kept small by `sizes`, and is
held on Linux by a limit on the process, wide enough for all that the machine has to give.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import duckdb

from relserve.errors import Cancelled, LimitError
from relserve.machine.memory_limit import limited_memory

POLL_S = 0.01
_NAME = "relserve-sql-watchdog"
_STATM = Path("/proc/self/statm")  # pages: total, resident, and those of files among them
_PAGE = 4096
_MEMORY = "SELECT tag, memory_usage_bytes, temporary_storage_bytes FROM system.main.duckdb_memory()"
_CACHED = frozenset(["BASE_TABLE", "METADATA"])  # blocks of tables, which DuckDB drops when memory is short


class Limits(NamedTuple):
    """What one statement may take.

    Attributes:
        seconds: from its planning to its last row.
        memory_mb: memory in MB (10^6 bytes).
        rows: of the answer.
        disk_mb: of temporary files, in MB.
    """

    seconds: float = 10.0
    memory_mb: int = 1024
    rows: int = 10_000
    disk_mb: int = 1024


DEFAULT = Limits()
CANCEL = "cancel"


class _Use(NamedTuple):
    """What a process holds, in bytes."""

    resident: int
    cached: int
    on_disk: int


class Watchdog:
    """Ends the statement that runs on a connection when it takes too much.

    Attributes:
        ended_by: the limit at which it was ended, or CANCEL; None while none was reached.
    """

    def __init__(
        self, con: duckdb.DuckDBPyConnection, limits: Limits, cancel: threading.Event | None = None
    ) -> None:
        self.ended_by: str | None = None
        self._con, self._limits, self._cancel = con, limits, cancel or threading.Event()
        self._is_over = threading.Event()
        self._interrupting = threading.Lock()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch what runs inside.

        Raises:
            LimitError: a limit was reached.
            Cancelled: `cancel` was set.
        """
        if self._cancel.is_set():
            raise Cancelled("cancelled before generated SQL ran")
        with self._con.cursor() as con:
            before = _use(con)
            thread = threading.Thread(target=self._watch, args=(con, before), name=_NAME, daemon=True)
            thread.start()
            with self._until_over(thread), limited_memory():
                yield

    @contextmanager
    def _until_over(self, thread: threading.Thread) -> Iterator[None]:
        try:
            yield
        except (duckdb.InterruptException, duckdb.OutOfMemoryException, MemoryError) as error:
            if self.ended_by == CANCEL or self._cancel.is_set():
                raise Cancelled("cancelled while generated SQL ran") from error
            if self.ended_by is not None:
                raise limit_error(self.ended_by, self._limits) from error
            if isinstance(error, duckdb.InterruptException):
                raise
            raise LimitError(f"generated SQL was ended: {error}", "memory_mb") from error
        finally:
            with self._interrupting:
                self._is_over.set()
            thread.join()

    def _watch(self, con: duckdb.DuckDBPyConnection, before: _Use) -> None:
        began = time.monotonic()
        while not self._is_over.wait(POLL_S):
            try:
                self.ended_by = self.ended_by or self._reached(con, before, time.monotonic() - began)
            except (duckdb.Error, MemoryError):  # there is not even memory to look at it
                self.ended_by = "memory_mb"
            if self.ended_by is not None:
                self._interrupt()

    def _interrupt(self) -> None:
        """An interrupt that came after the end would hit the connection's next statement."""
        with self._interrupting:
            if not self._is_over.is_set():
                self._con.interrupt()

    def _reached(self, con: duckdb.DuckDBPyConnection, before: _Use, took_s: float) -> str | None:
        if self._cancel.is_set():
            return CANCEL
        if took_s > self._limits.seconds:
            return "seconds"
        now = _use(con)
        if (
            now.resident - before.resident - max(0, now.cached - before.cached)
            > self._limits.memory_mb * 10**6
        ):
            return "memory_mb"
        if now.on_disk - before.on_disk > self._limits.disk_mb * 10**6:
            return "disk_mb"
        return None


def limit_error(name: str, limits: Limits) -> LimitError:
    """The error of a statement that was ended at a limit."""
    value = getattr(limits, name)
    told = {
        "seconds": f"it ran for {value:g} seconds",
        "memory_mb": f"it took {value:,} MB of memory",
        "disk_mb": f"it wrote {value:,} MB of temporary files",
        "rows": f"its answer has more than {value:,} rows",
    }[name]
    return LimitError(f"generated SQL was ended: {told}; Limits({name}=..) allows more", name)


def _use(con: duckdb.DuckDBPyConnection) -> _Use:
    rows = con.execute(_MEMORY).fetchall()
    return _Use(
        _resident(rows),
        sum(used for tag, used, _ in rows if tag in _CACHED),
        sum(on_disk for _, _, on_disk in rows),
    )


def _resident(rows: list[tuple[str, int, int]]) -> int:
    """Memory of this process that holds no file; what DuckDB counts, where the system does not tell."""
    try:
        _, resident, of_files, *_ = map(int, _STATM.read_text().split())
    except OSError:
        return sum(used for _, used, _ in rows)
    return (resident - of_files) * _PAGE
