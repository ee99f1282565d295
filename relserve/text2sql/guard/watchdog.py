"""The thread that ends generated SQL at its limits.

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import duckdb

from relserve.errors import Cancelled, LimitError
from relserve.machine.memory_limit import limited_memory
from relserve.text2sql.guard.limits import StatementLimits, limit_error, too_many_rows

POLL_S = 0.01
_NAME = "relserve-sql-watchdog"
_STATM = Path("/proc/self/statm")  # pages: total, resident, and those of files among them
_PAGE = 4096
_MEMORY = "SELECT tag, memory_usage_bytes, temporary_storage_bytes FROM system.main.duckdb_memory()"
_CACHED = frozenset(["BASE_TABLE", "METADATA"])  # blocks of tables, which DuckDB drops when memory is short
CANCEL = "cancel"


class _Use(NamedTuple):
    """What a process holds, in bytes."""

    resident: int
    cached: int
    on_disk: int


class Watchdog:
    """Ends the statement that runs on a connection when it takes too much.

    Args:
        cancel: when set, what runs is ended.
        interrupt: ends what runs; None: interrupts the connection.
        late_s: how long after the limit of time it does so; DuckDB itself ends it before (`deadline`).

    Attributes:
        ended_by: the limit at which it was ended, or CANCEL; None while none was reached.
    """

    def __init__(
        self,
        con: duckdb.DuckDBPyConnection,
        limits: StatementLimits,
        cancel: threading.Event | None = None,
        interrupt: Callable[[], None] | None = None,
        late_s: float = 0.0,
    ) -> None:
        self._longest_s = limits.seconds + late_s
        self.ended_by: str | None = None
        self._con, self._limits, self._cancel = con, limits, cancel or threading.Event()
        self._interrupt_all = interrupt or con.interrupt
        self._time = _Time()
        self._before: _Use | None = None
        self._paused_at: int | None = None  # what the process held then
        self._is_inside = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch what runs inside; entered again for the same statement, it goes on counting.

        Raises:
            LimitError: a limit was reached.
            Cancelled: `cancel` was set.
        """
        if self._is_inside:
            yield
            return
        if self._cancel.is_set():
            raise Cancelled("cancelled before generated SQL ran")
        with self._con.cursor() as con:
            self._before = self._before or _use(con)
            is_over, ending = threading.Event(), threading.Lock()
            watch = (con, is_over, ending)
            thread = threading.Thread(target=self._watch, args=watch, name=_NAME, daemon=True)
            thread.start()
            self._is_inside = True
            try:
                with self._time.running(), self._with_reasons(), limited_memory():
                    yield
            finally:
                self._is_inside = False
                with ending:
                    is_over.set()
                thread.join()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """A model works for the statement inside; its time and memory do not count."""
        self._time.pause(self._look_away)
        try:
            yield
        finally:
            self._time.go_on(self._look_again)

    def _look_away(self) -> None:
        self._paused_at = _resident_now()

    def _look_again(self) -> None:
        now = _resident_now()
        if self._before is not None and now is not None and self._paused_at is not None:
            self._before = self._before._replace(resident=self._before.resident + now - self._paused_at)

    @contextmanager
    def _with_reasons(self) -> Iterator[None]:
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
        except duckdb.InvalidInputException as error:
            if (too_many := too_many_rows(error)) is not None:
                raise too_many from error
            raise

    def _watch(
        self, con: duckdb.DuckDBPyConnection, is_over: threading.Event, ending: threading.Lock
    ) -> None:
        while not is_over.wait(POLL_S):
            if self.ended_by is not None:  # just awake: nobody waits for Python's lock
                with ending:  # an interrupt that came after the end would hit the connection's next statement
                    if not is_over.is_set():
                        self._interrupt_all()
            elif self._cancel.is_set() or not self._time.is_paused:
                try:
                    self.ended_by = self._reached(con)
                except (duckdb.Error, MemoryError):  # there is not even memory to look at it
                    self.ended_by = "memory_mb"

    def _reached(self, con: duckdb.DuckDBPyConnection) -> str | None:
        if self._cancel.is_set():
            return CANCEL
        if self._time.counted_s > self._longest_s:
            return "seconds"
        now, before = _use(con), self._before
        assert before is not None
        grown = now.resident - before.resident - max(0, now.cached - before.cached)
        if grown > self._limits.memory_mb * 10**6:
            return "memory_mb"
        if now.on_disk - before.on_disk > self._limits.disk_mb * 10**6:
            return "disk_mb"
        return None


class _Time:
    """A statement's seconds; safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_running, self._num_pauses = False, 0
        self._counted_s = 0.0
        self._since: float | None = None

    @property
    def is_paused(self) -> bool:
        """Whether nothing is counted now."""
        return self._num_pauses > 0

    @property
    def counted_s(self) -> float:
        """So far."""
        with self._lock:
            return self._counted_s + (0.0 if self._since is None else time.monotonic() - self._since)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count what passes inside."""
        with self._lock:
            self._is_running = True
            self._change()
        try:
            yield
        finally:
            with self._lock:
                self._is_running = False
                self._change()

    def pause(self, first: Callable[[], None]) -> None:
        """Count no more; `first` is called where it is counted till now."""
        with self._lock:
            if not self._num_pauses:
                first()
            self._num_pauses += 1
            self._change()

    def go_on(self, last: Callable[[], None]) -> None:
        """End a pause; `last` is called where it is counted from now on."""
        with self._lock:
            self._num_pauses -= 1
            if not self._num_pauses:
                last()
            self._change()

    def _change(self) -> None:
        now = time.monotonic()
        if self._since is not None:
            self._counted_s += now - self._since
        self._since = now if self._is_running and not self._num_pauses else None


def _use(con: duckdb.DuckDBPyConnection) -> _Use:
    rows = con.execute(_MEMORY).fetchall()
    return _Use(
        _resident(rows),
        sum(used for tag, used, _ in rows if tag in _CACHED),
        sum(on_disk for _, _, on_disk in rows),
    )


def _resident(rows: list[tuple[str, int, int]]) -> int:
    """Memory of this process that holds no file; what DuckDB counts, where the system does not tell."""
    resident = _resident_now()
    return sum(used for _, used, _ in rows) if resident is None else resident


def _resident_now() -> int | None:
    """Memory of this process that holds no file, in bytes; None: the system does not tell."""
    try:
        _, resident, of_files, *_ = map(int, _STATM.read_text().split())
    except OSError:
        return None
    return (resident - of_files) * _PAGE
