"""Where a client stands in its transactions, as PostgreSQL tells it with every answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress

import duckdb
from relserve_duckdb import Connection

from relserve.errors import ProtocolError
from relserve.server.client.commands import Begin, End, Savepoint
from relserve.server.client.notices import Say
from relserve.server.client.savepoints import Savepoints
from relserve.server.client.split import bare
from relserve.server.client.variables import SessionVariables

_ENDS = re.compile(r"(?i)\s*(rollback|abort|commit|end)\b")

BEGIN = {False: "BEGIN TRANSACTION", True: "BEGIN TRANSACTION READ ONLY"}


class Transaction:
    """Begins and ends DuckDB's transactions.

    Args:
        shield: keeps the statement that runs from being stopped.

    Attributes:
        status: b"I" outside of a block, b"T" inside, b"E" inside one that has failed.
        savepoints: of the block.
        is_implicit: the block is that of a text of several statements, which its end ends.
        when_begun: called when DuckDB's transaction has begun, which is undone where it raises.
        while_ending: entered while it ends.
        when_ended: called then with whether what was done in a block now holds.
    """

    def __init__(
        self, con: Connection, variables: SessionVariables, say: Say, shield: Callable[[], None]
    ) -> None:
        self._con, self._variables, self._say, self._shield = con, variables, say, shield
        self.status = b"I"
        self.is_implicit = False
        self._is_fresh = True  # nothing has run in it
        self.savepoints = Savepoints()
        self.when_begun: Callable[[], None] = lambda: None
        self.while_ending: Callable[[], AbstractContextManager[None]] = nullcontext
        self.when_ended: Callable[[bool], None] = lambda commits: None

    def is_open(self) -> bool:
        """Whether what is done now holds later, or is undone."""
        return self.status != b"I"

    def begin(self, command: Begin) -> str:
        """BEGIN; gives the tag."""
        if self.status == b"I":
            self._start(command.is_read_only)
        else:
            if not self.is_implicit:
                self._say("WARNING", "there is already a transaction in progress", "25001")
            if command.is_read_only is not None:
                self.set_mode(command.is_read_only)
        self.status, self.is_implicit = b"T", False
        return command.tag

    def begin_implicit(self) -> None:
        """The statements of one text run together or not at all."""
        if self.status == b"I":
            self._start(None)
            self.status, self.is_implicit = b"T", True

    def set_mode(self, is_read_only: bool) -> None:
        """SET TRANSACTION READ ONLY or READ WRITE.

        Raises:
            ProtocolError: something has run in the transaction.
        """
        if self.status == b"I":
            self.warn_outside("SET TRANSACTION")
        elif is_read_only != self._variables.is_on("transaction_read_only"):
            if not self._is_fresh:
                raise ProtocolError(
                    "DuckDB decides at BEGIN what a transaction may do: say it there, or before any query",
                    "0A000" if is_read_only else "25001",
                )
            self._con.execute("ROLLBACK")
            self._begin(is_read_only)
            self._variables.reads_only(is_read_only)

    def runs(self) -> None:
        """DuckDB is to run or describe a statement: of a client that only reads, in such a transaction."""
        if self._variables.is_on("default_transaction_read_only"):
            self.begin_implicit()
        self._is_fresh = False

    def _start(self, is_read_only: bool | None) -> None:
        if is_read_only is None:
            is_read_only = self._variables.is_on("default_transaction_read_only")
        self._begin(is_read_only)
        self._variables.begin(is_read_only)
        self._is_fresh = True

    def _begin(self, is_read_only: bool) -> None:
        try:
            self._con.execute(BEGIN[is_read_only])  # cancelled, it leaves a transaction that has failed
            self.when_begun()
        except Exception:
            self._undo()
            raise

    def _undo(self) -> None:
        """Have DuckDB in no transaction, whoever cancels what the client is about to hear has failed."""
        self._shield()
        with suppress(duckdb.Error):
            self._con.raw.rollback()

    def warn_outside(self, what: str) -> None:
        """Tell the client that a statement did nothing, for no block has begun."""
        self._say("WARNING", f"{what} can only be used in transaction blocks", "25P01")

    def end(self, command: End, before: Callable[[], None]) -> str:
        """COMMIT or ROLLBACK; gives the tag. `before` runs first: results that are open end with it."""
        if self.status == b"I":
            self._say("WARNING", "there is no transaction in progress", "25P01")
            return "COMMIT" if command.commits else "ROLLBACK"
        commits = command.commits and self.status == b"T"
        is_read_only = self._variables.is_on("transaction_read_only")
        with self.while_ending():
            try:
                before()
                self._shield()
                self._con.execute("COMMIT" if commits else "ROLLBACK")
            except Exception:
                commits = False
                self._undo()
                raise
            finally:
                self.status, self.is_implicit = b"I", False
                self.savepoints.clear()
                self._variables.end(commits)
                self.when_ended(commits)
        if command.chains:
            self.begin(Begin(is_read_only, tag="BEGIN"))
        return "COMMIT" if commits else "ROLLBACK"

    def end_implicit(self, before: Callable[[], None]) -> None:
        """The text of several statements has ended."""
        if self.is_implicit:
            self.end(End(self.status == b"T", chains=False), before)

    def savepoint(self, command: Savepoint) -> str:
        """SAVEPOINT, RELEASE or ROLLBACK TO; gives the tag.

        Raises:
            ProtocolError: there is no block or no such savepoint, or DuckDB cannot go back to it.
        """
        if self.status == b"I" or self.is_implicit:
            what = {"RELEASE": "RELEASE SAVEPOINT", "ROLLBACK": "ROLLBACK TO SAVEPOINT"}.get(command.tag)
            raise ProtocolError(f"{what or command.tag} can only be used in transaction blocks", "25P01")
        match command.tag:
            case "SAVEPOINT":
                self.savepoints.add(command.name)
            case "RELEASE":
                self.savepoints.release(command.name)
            case "ROLLBACK":
                self.savepoints.go_back(command.name)
                self._check_alive()
                self.status = b"T"
        return command.tag

    def _check_alive(self) -> None:
        """Some mistakes end DuckDB's transaction, and some do not."""
        try:
            self._con.execute("SELECT 1").fetchall()
        except duckdb.Error as error:
            raise ProtocolError(
                "DuckDB has no savepoints: this error can only be undone with the whole transaction", "0A000"
            ) from error

    def failed(self) -> None:
        """A statement has failed."""
        if self.status == b"T":
            self.status = b"E"

    def check(self, text: str) -> None:
        """Raise unless the statement may run in the state that the transaction is in."""
        if self.status == b"E" and not _ENDS.match(bare(text)):
            raise ProtocolError(
                "current transaction is aborted, commands ignored until end of transaction block", "25P02"
            )
