"""What the server knows of one client: who it is, what it runs, and how to stop that."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, NamedTuple

import duckdb
from relserve_duckdb import Connection

from relserve.errors import ForbiddenError
from relserve.server.client.channel import Channel, HungUp
from relserve.server.client.notices import Say
from relserve.server.client.transaction import Transaction
from relserve.server.client.variables import SessionVariables
from relserve.server.histories import ClientHistory
from relserve.server.users.tries import network_of
from relserve.server.users.users import User
from relserve.server.wire import backend
from relserve.server.wire.backend import ErrorFields
from relserve.server.wire.frontend import NEWEST_MINOR

KEY_BYTES, LONG_KEY_BYTES = 4, 32  # all that protocol 3.0 has room for, and of 3.2
AGAIN_S = 0.1  # between interrupts, for one may come before there is anything to interrupt
_NUMBER = "SELECT system.main.current_connection_id()"
BY_USER = "canceling statement due to user request"
BY_TIME = "canceling statement due to statement timeout"


class EndedStatement(NamedTuple):
    """A statement that has ended.

    Attributes:
        sqlstate: None where it did what it should.
    """

    text: str
    seconds: float
    num_rows: int
    sqlstate: str | None


@dataclass(frozen=True)
class ClientFacts:
    """What a text may ask of the client that sends it; see `catalog.Facts`."""

    pid: int
    user: str
    is_admin: bool
    setting: Callable[[str], str | None]


class ClientState:
    """One client, seen from its own thread and from others.

    Args:
        pid: its number, by which it is cancelled and shown; no other client of the server has it.
        minor: of the protocol's version 3 that it speaks.
        ended: called with every statement that has ended.

    Attributes:
        key: what a request to cancel must know.
        connection: the number of its DuckDB connection, by which the server's functions know who calls them.
        status: "active", "idle", "idle in transaction" or "idle in transaction (aborted)".
        text: the latest statement.
        longest_s: after so many seconds a statement is ended, whatever timeout the client sets; None: never.
        prepared: lists what the client has prepared in messages, as pg_prepared_statements shows it.
        refusal: of one of the server's own functions that the statement called; DuckDB tells only its text.
    """

    def __init__(
        self, pid: int, user: User, channel: Channel, con: Connection, variables: SessionVariables,
        history: ClientHistory, say: Say, ended: Callable[[ClientState, EndedStatement], None],
        loop: asyncio.AbstractEventLoop, minor: int = 0,
    ) -> None:  # fmt: skip
        self.pid, self.user, self.channel, self.con, self.variables = pid, user, channel, con, variables
        self.transaction = Transaction(con, variables, say, self.shield)
        self.key = secrets.token_bytes(LONG_KEY_BYTES if minor >= NEWEST_MINOR else KEY_BYTES)
        self.connection = int(con.raw.execute(_NUMBER).fetchall()[0][0])
        self.facts = ClientFacts(pid, user.name, user.is_admin, variables.find)
        self.backend_start = self.state_change = self.query_start = datetime.now(timezone.utc)
        self.status, self.text = "idle", ""
        self.longest_s: float | None = None
        self._ended, self._loop, self.history = ended, loop, history
        self.prepared: Callable[[], list[dict[str, Any]]] = list
        self._began_s, self._num_rows = 0.0, 0
        self._number = 0  # of the statement that runs, 0 between two
        self._count = 0
        self._lock = threading.Lock()
        self.refusal: ForbiddenError | None = None
        self._is_shielded = False
        self._timer: asyncio.TimerHandle | None = None
        self._stopped_by: ErrorFields | None = None

    def prepares(self, text: str) -> None:
        """A statement that has not started is parsed, bound or described: what fails there is its error."""
        if not self._number:
            self.text, self._began_s, self._num_rows = text, time.monotonic(), 0

    def starts(self, text: str) -> None:
        """A statement starts; one before it in the same message has ended.

        Raises:
            HungUp: the client is gone, and nobody would stop it any more.
        """
        if self._number:
            self.finished()
        self.text, self.status = text, "active"
        self.query_start = self.state_change = datetime.now(timezone.utc)
        self._began_s, self._num_rows = time.monotonic(), 0
        with self._lock:
            self._count += 1
            self._number, self._stopped_by, self.refusal = self._count, None, None
            self._is_shielded = False
        if self.channel.is_leaving:  # set before whoever sets it looks for a statement to stop
            raise HungUp("the client is gone")
        limits_s = [self.variables.milliseconds("statement_timeout") / 1000, self.longest_s or 0]
        if limit_s := min(filter(None, limits_s), default=0):
            self._loop.call_soon_threadsafe(self._arm, self._number, limit_s)

    def shield(self) -> None:
        """From now on the statement is not stopped: DuckDB would be left in half a COMMIT."""
        with self._lock:
            self._is_shielded = True

    def disarm(self) -> None:
        """No time-out is left; in the loop."""
        if self._timer is not None:
            self._timer.cancel()

    def take_refusal(self) -> ForbiddenError | None:
        """The refusal, once."""
        refusal, self.refusal = self.refusal, None
        return refusal

    def gave_rows(self, count: int) -> None:
        """The statement gave so many rows more."""
        self._num_rows += count

    def finished(self) -> None:
        """The statement has ended."""
        self._end(None)

    def failed(self, sqlstate: str) -> None:
        """The statement has failed."""
        self._end(sqlstate)

    def told(self, fields: ErrorFields) -> ErrorFields:
        """What the client is told of an error: who stopped its statement, where that is what happened."""
        stopped = self._stopped_by
        return stopped if stopped is not None and fields.sqlstate == "57014" else fields

    def is_key(self, key: bytes) -> bool:
        """Whether a request to cancel knows the client's key."""
        return secrets.compare_digest(self.key, key)

    def is_near(self, address: str) -> bool:
        """Whether an address is of the client's own network: who guesses keys there keeps it from nothing."""
        return network_of(address) == self.channel.network

    def terminate(self) -> None:
        """Stop the statement that runs, and hang up; in the loop."""
        told = ErrorFields("FATAL", "57P01", "terminating connection due to administrator command")
        self._stop(self._number, told)
        self.channel.end_with(backend.error_response(told))

    def cancel(self) -> bool:
        """Stop the statement that runs; in the loop. Whether one ran."""
        return self._stop(self._number, ErrorFields("ERROR", "57014", BY_USER))

    def check_stopped(self) -> None:
        """Raise if the statement was stopped, for what waits where DuckDB cannot be interrupted.

        Raises:
            duckdb.InterruptException: it was.
        """
        if self._stopped_by is not None:
            raise duckdb.InterruptException("INTERRUPT Error: Interrupted!")

    def idle_limit_s(self) -> float | None:
        """How long the client may be silent."""
        idles = self.transaction.status == b"I"
        limit_ms = self.variables.milliseconds(
            "idle_session_timeout" if idles else "idle_in_transaction_session_timeout"
        )
        return limit_ms / 1000 if limit_ms else None

    def _end(self, sqlstate: str | None) -> None:
        with self._lock:
            was_running, self._number = self._number, 0
        if was_running and sqlstate is None and self._stopped_by is not None:
            forget_interrupt(self.con)  # it came too late for this statement
        self.status = {b"I": "idle", b"T": "idle in transaction"}.get(
            self.transaction.status, "idle in transaction (aborted)"
        )
        self.state_change = datetime.now(timezone.utc)
        if was_running or sqlstate is not None:
            self._ended(
                self, EndedStatement(self.text, time.monotonic() - self._began_s, self._num_rows, sqlstate)
            )

    def _arm(self, number: int, seconds: float) -> None:
        self.disarm()
        told = ErrorFields("ERROR", "57014", BY_TIME)
        self._timer = self._loop.call_later(seconds, self._stop, number, told)

    def _stop(self, number: int, why: ErrorFields) -> bool:
        with self._lock:
            if not number or number != self._number or self._is_shielded:
                return False
            self._stopped_by = self._stopped_by or why
            with suppress(duckdb.ConnectionException):  # the server has ended, and closed its database
                self.con.interrupt()
        self._loop.call_later(AGAIN_S, self._stop, number, why)
        return True


def forget_interrupt(con: Connection) -> None:
    """Have an interrupt that came too late not stop the next statement, as in a transaction it would."""
    with suppress(duckdb.Error):
        con.raw.sql("SELECT 1").fetchall()
