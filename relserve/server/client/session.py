"""One client's conversation: its messages in their order, and the answers to each."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import duckdb

from relserve.errors import ProtocolError
from relserve.server.client.channel import Broken, Channel, HungUp, SessionEnds
from relserve.server.client.commands import read_command
from relserve.server.client.copying import Copying
from relserve.server.client.executor import Executor, StatementOutcome
from relserve.server.client.list_literals import check_dimensions
from relserve.server.client.performer import Performer
from relserve.server.client.portals import Portal, Portals, PreparedStatement
from relserve.server.client.split import bare, split
from relserve.server.client.state import ClientState
from relserve.server.wire import backend, frontend
from relserve.server.wire.backend import ErrorFields
from relserve.server.wire.copying import CopyFrom, CopyTo, read_copy
from relserve.server.wire.faults import check_of, fields_of
from relserve.server.wire.frontend import formats_of_each
from relserve.server.wire.parameters import read_parameter
from relserve.server.wire.values import data_rows

log = logging.getLogger(__name__)

FLUSH_BYTES = 1 << 16
_WRITES = re.compile(
    r"(?is)(insert|update|delete|merge|create|drop|alter|truncate|comment|copy|execute|grant|revoke)\b"
    r"|(with|explain)\b.*\b(insert|update|delete|merge)\b"  # once too often does no harm
)


class ClientSession:
    """Answers one client's messages; all on the client's own thread.

    Args:
        state: what the server sees of the client, too.
        executor: runs its statements.
        performer: does what the server does by itself.
    """

    def __init__(
        self, channel: Channel, state: ClientState, executor: Executor, performer: Performer, portals: Portals
    ) -> None:
        self._channel, self._state, self._executor = channel, state, executor
        self._performer, self._portals = performer, portals
        self._transaction = state.transaction
        self._copying = Copying(channel, state.con, state, executor, self._write, self._flush)
        self._out = bytearray()
        self._skips = False  # messages up to the next Sync, after an error

    def run(self) -> None:
        """Answer until the client leaves.

        Raises:
            HungUp: the client is gone.
        """
        self._ready()
        while True:
            try:
                kind, body = self._channel.receive(self._patience_s())
                if not self._answer(kind, body):
                    return
            except TimeoutError:
                self._leave(*self._idle_error())
                return
            except SessionEnds as error:
                self._leave(error.sqlstate, str(error))
                return

    def _answer(self, kind: bytes, body: bytes) -> bool:
        """Answer one message; False: the client has taken its leave."""
        if self._skips and kind not in (b"S", b"X"):
            return True
        try:
            return self._take(frontend.read_message(kind, body))
        except (HungUp, Broken):
            self._state.failed("08006")
            raise
        except SessionEnds as error:
            self._state.failed(error.sqlstate)
            raise
        except BaseException as error:
            self._fail(error)
            if kind in (b"Q", b"F"):  # no Sync comes behind them
                self._end_of_query()
            elif kind == b"S":
                self._ready()
            else:
                self._skips = True
                self._flush()  # some clients wait for the error before they send what ends the skipping
            if not isinstance(error, Exception):
                raise
        return True

    def _take(self, message: frontend.Message) -> bool:
        match message:
            case frontend.Query(text):
                self._query(text)
            case frontend.Parse(name, text, oids):
                self._parse(name, text, oids)
            case frontend.Bind():
                self._bind(message)
            case frontend.Describe(kind, name):
                self._describe(kind, name)
            case frontend.Execute(portal, max_rows):
                self._execute(portal, max_rows)
            case frontend.Close(kind, name):
                self._close(kind, name)
            case frontend.Sync():
                self._sync()
            case frontend.Flush():
                self._flush()
            case frontend.Terminate():
                return False
            case frontend.CopyData() | frontend.CopyDone() | frontend.CopyFail():
                pass  # what a client had on its way when its COPY failed
            case _:
                raise ProtocolError(f"{type(message).__name__} is not to be had here", "0A000")
        return True

    # The simple protocol.

    def _query(self, text: str) -> None:
        statements = split(text)
        if not statements:
            self._write(backend.empty_query_response())
        self._portals.close_unnamed()
        for statement in statements:
            if len(statements) > 1:
                self._transaction.begin_implicit()  # anew, after a COMMIT among them
            outcome = self._run(statement)
            if outcome.rows is not None:
                self._write_columns(outcome.rows.columns, ())
            self._send(outcome, None, ())
        self._transaction.end_implicit(self._portals.close_all)
        if self._transaction.status == b"I":
            self._portals.close_all()
        self._state.finished()
        self._ready()

    def _end_of_query(self) -> None:
        if self._transaction.is_implicit:
            self._transaction.end_implicit(self._portals.close_all)
        self._ready()

    def _run(self, text: str, parameters: Sequence[Any] = ()) -> StatementOutcome:
        self._state.starts(text)
        self._transaction.check(text)
        command = read_command(text)
        run = partial(self._run, parameters=parameters)  # a cursor's query has the parameters of its DECLARE
        if command is not None and (outcome := self._performer.perform(command, run)) is not None:
            return outcome
        copy = read_copy(text)
        if isinstance(copy, CopyFrom):
            outcome = self._copying.take(copy)
            self._transaction.savepoints.wrote()
            return outcome
        if isinstance(copy, CopyTo):
            return self._copying.give(copy, parameters)
        return self._executor.run(text, parameters)

    def _send(self, outcome: StatementOutcome, max_rows: int | None, formats: Sequence[int]) -> bool:
        """Send rows and what ends them; whether the end is reached."""
        rows = outcome.rows
        if rows is None:
            self._write(
                backend.command_complete(outcome.tag) if outcome.tag else backend.empty_query_response()
            )
            return True
        before, each = rows.num_taken, formats_of_each(tuple(formats), len(rows.columns))
        for batch in rows.take(max_rows):
            self._write(data_rows(batch, rows.columns, each))
        count = rows.num_taken - before
        self._state.gave_rows(count)
        if max_rows and count == max_rows:  # as PostgreSQL, which does not look ahead either
            self._write(backend.portal_suspended())
            return False
        self._write(backend.command_complete(f"{outcome.tag} {count}" if outcome.counts else outcome.tag))
        return True

    # The extended protocol.

    def _parse(self, name: str, text: str, oids: Sequence[int]) -> None:
        if len(statements := split(text)) > 1:
            raise ProtocolError("cannot insert multiple commands into a prepared statement", "42601")
        self._state.prepares(text)
        self._transaction.check(text)
        self._portals.prepare(PreparedStatement(name, statements[0] if statements else "", tuple(oids)))
        self._write(backend.parse_complete())

    def _bind(self, message: frontend.Bind) -> None:
        prepared = self._portals.prepared(message.statement)
        self._state.prepares(prepared.text)
        self._transaction.check(prepared.text)
        oids = self._portals.oids(prepared, len(message.parameters))
        given = zip(message.parameters, message.parameter_formats, oids, strict=True)
        values = [read_parameter(*each) for each in given]
        check_dimensions(prepared.text, values)
        self._portals.open(Portal(message.portal, prepared, values, message.result_formats))
        self._write(backend.bind_complete())

    def _describe(self, kind: str, name: str) -> None:
        if kind == "S":
            prepared = self._portals.prepared(name)
            self._state.prepares(prepared.text)
            if self._executor.rows is not None:  # they are read to their end first, which can be stopped
                self._state.starts(prepared.text)
            described = self._portals.describe(prepared)
            self._write(backend.parameter_description(described.oids))
            self._write_columns(described.columns, ())
            return
        portal = self._portals.portal(name)
        outcome = portal.outcome
        columns = (
            outcome.rows.columns
            if outcome and outcome.rows
            else self._portals.describe(portal.prepared).columns
        )
        self._write_columns(columns, portal.formats)

    def _write_columns(self, columns: Sequence[Any], formats: Sequence[int]) -> None:
        each = formats_of_each(tuple(formats), len(columns))
        self._write(backend.row_description(columns, each) if columns else backend.no_data())

    def _execute(self, name: str, max_rows: int) -> None:
        portal = self._portals.portal(name)
        if portal.outcome is None:
            if _WRITES.match(bare(portal.prepared.text)):
                self._transaction.begin_implicit()  # all up to Sync is done, or nothing is
            portal.outcome = self._run_portal(portal)
        elif portal.outcome.rows is None and portal.outcome.tag:
            raise ProtocolError(f'portal "{name}" cannot be run', "55000")
        else:
            self._state.starts(portal.prepared.text or f"FETCH FROM {name}")  # fetching more can be stopped
        is_done = self._send(portal.outcome, max_rows or None, portal.formats)
        if is_done:
            self._state.finished()

    def _run_portal(self, portal: Portal) -> StatementOutcome:
        prepared = portal.prepared
        self._transaction.check(prepared.text)
        self._state.prepares(prepared.text)
        described = self._portals.describe(prepared) if prepared.described is not None else None
        runnable = described.runnable(portal.values) if described is not None else None
        if runnable is None:
            outcome = self._run(prepared.text, portal.values)
        else:
            self._state.starts(prepared.text)
            outcome = self._executor.run_described(runnable, portal.values)
        self._portals.check_told(portal, outcome)
        return outcome

    def _close(self, kind: str, name: str) -> None:
        if kind == "S":
            self._portals.forget(name)
        else:
            self._portals.close(name)
        self._write(backend.close_complete())

    def _sync(self) -> None:
        self._skips = False
        self._transaction.end_implicit(self._portals.close_all)
        if self._transaction.status == b"I":
            self._portals.close_all()
        self._state.finished()
        self._ready()

    # What both have in common.

    def _fail(self, error: BaseException) -> None:
        if not isinstance(error, (duckdb.Error, Exception)):
            log.warning("a client's thread ends", exc_info=error)
        fields = self._state.told(fields_of(self._state.take_refusal() or error, self._state.text))
        if fields.table and (check := check_of(fields)):
            fields = fields._replace(constraint=self._executor.check_name(fields.table, check))
        if fields.sqlstate == "XX000":
            log.error("statement of %s failed: %s", self._state.user.name, fields.message, exc_info=error)
        if not self._portals.holds(self._executor.rows):
            self._executor.drop(self._executor.rows)
        self._transaction.failed()
        self._write(backend.error_response(fields))
        self._state.failed(fields.sqlstate)

    def _ready(self) -> None:
        self._write(backend.ready_for_query(self._transaction.status))
        self._flush()

    def _write(self, data: bytes) -> None:
        self._out += data
        if len(self._out) >= FLUSH_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._out:
            data, self._out = bytes(self._out), bytearray()
            self._channel.send(data)

    def _patience_s(self) -> float | None:
        return self._state.idle_limit_s()

    def _idle_error(self) -> tuple[str, str]:
        if self._transaction.status == b"I":
            return "57P05", "terminating connection due to idle-session timeout"
        return "25P03", "terminating connection due to idle-in-transaction timeout"

    def _leave(self, sqlstate: str, message: str) -> None:
        self._write(backend.error_response(ErrorFields("FATAL", sqlstate, message)))
        self._flush()
