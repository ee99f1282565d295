"""Does what PostgreSQL's statements ask for and DuckDB has not: settings, transactions, cursors."""

from __future__ import annotations

import re
from collections.abc import Callable

import duckdb
from relserve_duckdb import Connection

from relserve.errors import ForbiddenError, ProtocolError
from relserve.linking.schema import literal, quoted
from relserve.server.catalog.build import DATABASE
from relserve.server.client import commands as asked
from relserve.server.client.executor import Executor, StatementOutcome
from relserve.server.client.granting import Granter
from relserve.server.client.portals import ALL_SETTINGS, Cursor, Portals
from relserve.server.client.results import ResultRows, rows_of_text
from relserve.server.client.state import ClientState
from relserve.server.client.variables import spelled, switched
from relserve.server.rights.grants import Granting
from relserve.server.wire.types import TEXT, PgType, ResultColumn
from relserve.server.wire.zones import read_zone

Run = Callable[[str], StatementOutcome]

_TEMP_TABLES = "SELECT table_name FROM system.main.duckdb_tables() WHERE temporary AND NOT internal"
_PREPARED = "SELECT name FROM system.main.duckdb_prepared_statements()"


class Performer:
    """Performs commands for one client.

    Args:
        granter: None: the server has no users.
    """

    def __init__(
        self, con: Connection, state: ClientState, executor: Executor, portals: Portals,
        granter: Granter | None = None,
    ) -> None:  # fmt: skip
        self._granter = granter
        self._con, self._state, self._executor, self._portals = con, state, executor, portals
        self._variables, self._transaction = state.variables, state.transaction
        self._variables.apply = self._apply

    def perform(self, command: asked.Command, run: Run) -> StatementOutcome | None:
        """Do it; None: it is for DuckDB after all.

        Args:
            run: runs a statement as the client's own.

        Raises:
            ProtocolError: it cannot be done.
        """
        match command:
            case asked.Begin():
                self._executor.make_room()
                return StatementOutcome(self._transaction.begin(command))
            case asked.End():
                return StatementOutcome(self._transaction.end(command, self._end_of_transaction))
            case asked.Savepoint():
                self._executor.make_room()
                return StatementOutcome(self._transaction.savepoint(command))
            case asked.Set(name, value, is_local):
                return self._set(name, value, is_local)
            case asked.SetConfig(name, value, is_local, column):
                return self._set_config(name, value, is_local, column)
            case asked.Mode(is_read_only):
                self._transaction.set_mode(is_read_only)
                return StatementOutcome("SET")
            case asked.ResetAll():
                self._variables.reset()
                return StatementOutcome("RESET")
            case asked.Show(name):
                return self._show(name)
            case asked.Declare():
                return self._declare(command, run)
            case asked.Fetch():
                return self._fetch(command)
            case asked.CloseCursor(name):
                for each in [name] if name is not None else list(self._portals.cursors):
                    self._portals.close_cursor(each)
                return StatementOutcome("CLOSE CURSOR ALL" if name is None else "CLOSE CURSOR")
            case asked.Deallocate(name):
                return self._deallocate(name)
            case asked.Discard(what):
                return self._discard(what)
            case asked.RightsCommand(granting):
                return self._grant(granting)
            case asked.Nothing(tag):
                return StatementOutcome(tag)
        return None

    def _grant(self, granting: Granting) -> StatementOutcome:
        if self._granter is None:
            raise ProtocolError("this server has no users: start it with --users to grant rights", "0A000")
        if self._variables.is_on("transaction_read_only"):
            raise ProtocolError(f"cannot execute {granting.tag} in a read-only transaction", "25006")
        self._executor.make_room()
        self._granter.grant(granting)
        return StatementOutcome(granting.tag)

    def _end_of_transaction(self) -> None:
        self._portals.close_all()
        self._executor.make_room()

    def _set(self, name: str, value: str | None, is_local: bool) -> StatementOutcome | None:
        if not self._variables.knows(name):
            return None
        if is_local and self._transaction.status == b"I":
            self._transaction.warn_outside("SET LOCAL")
        if name.lower() == "transaction_read_only":
            default = self._variables.find("default_transaction_read_only") or "off"
            self._transaction.set_mode(switched(name, value or default))
        else:
            self._variables.set(name, value, is_local)
        return StatementOutcome("SET" if value is not None else "RESET")

    def _set_config(
        self, name: str, value: str | None, is_local: bool, column: str
    ) -> StatementOutcome | None:
        if self._set(name, value, is_local) is None:
            return None
        row = (self._variables.find(name) or "",)
        return StatementOutcome(
            "SELECT", rows_of_text([ResultColumn(column, PgType(TEXT))], [row]), counts=True
        )

    def _apply(self, name: str, value: str) -> str:
        """See `Variables`."""
        if name == "search_path":
            return self._search_path(value)
        shown, zone = read_zone(value.strip("'\""))
        self._tell_duckdb(name, zone)
        return shown

    def _tell_duckdb(self, name: str, value: str) -> None:
        self._executor.make_room()
        try:
            self._con.execute(f"SET {name} = {literal(value)}")
        except duckdb.InterruptException:
            raise
        except duckdb.Error as error:
            raise ProtocolError(f'invalid value for parameter "{name}": "{value}"', "22023") from error

    def _search_path(self, value: str) -> str:
        """Set DuckDB's to those schemas that there are; PostgreSQL takes others, and finds nothing there."""
        wanted = [asked.unquoted(each.strip().replace("'", '"')) for each in value.split(",")]
        if any(DATABASE in re.split(r"\W+", each.lower()) for each in wanted):
            raise ForbiddenError(f"{DATABASE} is the server's own, and no schema of yours")
        self._executor.make_room()
        there = {
            row[0] for row in self._con.raw.execute(
                "SELECT schema_name FROM system.main.duckdb_schemas() "
                "WHERE database_name = system.main.current_database()"
            ).fetchall()
        }  # fmt: skip
        found = [each for each in wanted if each in there] or ["main"]
        self._tell_duckdb("search_path", ",".join(map(quoted, found)))
        return ", ".join(found)

    def _show(self, name: str) -> StatementOutcome | None:
        if name == "all":
            rows = [(each, value, "") for each, value in self._variables.all()]
            return StatementOutcome("SHOW", rows_of_text(ALL_SETTINGS, rows))
        value = self._variables.find(name)
        if value is None:
            return None
        return StatementOutcome("SHOW", rows_of_text([ResultColumn(spelled(name), PgType(TEXT))], [(value,)]))

    def _declare(self, command: asked.Declare, run: Run) -> StatementOutcome:
        if self._transaction.status == b"I" and not command.is_held:
            raise ProtocolError("DECLARE CURSOR can only be used in transaction blocks", "25P01")
        outcome = run(command.query)
        if outcome.rows is None:
            raise ProtocolError("a cursor is over a query, and this statement gives no rows", "42601")
        self._portals.declare(command.name, Cursor(outcome.rows, command.is_held))
        return StatementOutcome("DECLARE CURSOR")

    def _fetch(self, command: asked.Fetch) -> StatementOutcome:
        rows = self._portals.cursor(command.name)
        if command.moves:
            return StatementOutcome(f"MOVE {sum(batch.num_rows for batch in rows.take(command.most))}")
        return StatementOutcome("FETCH", ResultRows(rows.columns, rows.take(command.most)), counts=True)

    def _deallocate(self, name: str | None) -> StatementOutcome | None:
        if name is not None:
            if not self._portals.has_prepared(name):
                return None
            self._portals.forget(name)
            return StatementOutcome("DEALLOCATE")
        self._portals.forget_all()
        self._executor.make_room()
        for (each,) in self._con.raw.execute(_PREPARED).fetchall():
            self._con.execute(f"DEALLOCATE {quoted(each)}")
        return StatementOutcome("DEALLOCATE ALL")

    def _discard(self, what: str) -> StatementOutcome:
        if what not in ("all", "plans", "sequences", "temp", "temporary"):
            raise ProtocolError(
                f"DISCARD {what.upper()} is not known; it is ALL, PLANS, SEQUENCES or TEMP", "42601"
            )
        if what == "all":
            if self._transaction.status != b"I":
                raise ProtocolError("DISCARD ALL cannot run inside a transaction block", "25001")
            self._portals.close_all()
            self._deallocate(None)
            self._variables.reset()
        if what in ("all", "temp", "temporary"):
            self._executor.make_room()
            for (each,) in self._con.raw.execute(_TEMP_TABLES).fetchall():
                self._con.execute(f"DROP TABLE temp.{quoted(each)}")
        return StatementOutcome(f"DISCARD {what.upper()}")
