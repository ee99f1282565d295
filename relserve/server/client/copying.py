"""COPY between a client and the database: rows of a query to it, rows that it sends into a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import duckdb
from relserve_duckdb import Connection

from relserve.errors import ProtocolError
from relserve.linking.schema import quoted
from relserve.server.client.channel import Channel, Frame
from relserve.server.client.columns import columns_of
from relserve.server.client.executor import Executor, StatementOutcome
from relserve.server.client.state import ClientState
from relserve.server.client.transaction import BEGIN
from relserve.server.wire import backend, frontend
from relserve.server.wire.copy_batches import copied_batch
from relserve.server.wire.copy_reader import CopyReader, Row
from relserve.server.wire.copy_writer import CopyWriter
from relserve.server.wire.copying import CopyFrom, CopyTo
from relserve.server.wire.types import ResultColumn

LOOK_S = 0.2  # how often a client that is silent is looked at, whether it was stopped
INSERT_ROWS = 20_000  # that go into the table at once
PIECE = 1 << 18  # bytes of a message that are read at once: rows of one byte take a hundred times as much
_ROWS = "_copied_rows"  # the name under which DuckDB sees them


class Copying:
    """Runs COPY for one client.

    Args:
        write: sends bytes, sooner or later.
        flush: sends them now.
    """

    def __init__(
        self, channel: Channel, con: Connection, state: ClientState, executor: Executor,
        write: Callable[[bytes], None], flush: Callable[[], None],
    ) -> None:  # fmt: skip
        self._channel, self._con, self._state, self._executor = channel, con, state, executor
        self._write, self._flush = write, flush

    def give(self, copy: CopyTo, parameters: Sequence[Any]) -> StatementOutcome:
        """COPY .. TO STDOUT.

        Raises:
            duckdb.Error, RelserveError: the query failed; the client has got a part of its rows, and is told.
        """
        rows = self._executor.run(copy.query, parameters).rows
        if rows is None:
            raise ProtocolError("COPY query must give rows", "0A000")
        writer = CopyWriter(rows.columns, copy.options)
        self._write(backend.copy_out_response(writer.formats) + writer.start())
        for batch in rows.take():
            self._write(writer.rows(batch))
        self._write(writer.end() + backend.copy_done())
        self._state.gave_rows(rows.num_taken)
        return StatementOutcome(f"COPY {rows.num_taken}")

    def take(self, copy: CopyFrom) -> StatementOutcome:
        """COPY .. FROM STDIN: all rows or none.

        Raises:
            ProtocolError: the data are wrong, or the client gave up.
            duckdb.Error: the table does not take them.
        """
        columns = self._columns(copy)
        self._executor.check(f"INSERT INTO {copy.table} VALUES (NULL)")
        reader = CopyReader([column.name for column in columns], copy.options)
        is_binary = copy.options.format == "binary"
        self._write(backend.copy_in_response([int(is_binary)] * len(columns)))
        self._flush()
        is_own = self._state.transaction.status == b"I"
        count = 0
        try:
            if is_own:
                self._con.execute(BEGIN[False])
            for rows in self._parts(reader):
                self._insert(copy, columns, rows, is_binary)
                count += len(rows)
            if is_own:
                self._state.shield()
                self._con.execute("COMMIT")
        except BaseException:
            if is_own:
                self._state.shield()
                with suppress(duckdb.Error):
                    self._con.raw.rollback()
            raise
        return StatementOutcome(f"COPY {count}")

    def _columns(self, copy: CopyFrom) -> list[ResultColumn]:
        wanted = ", ".join(map(quoted, copy.columns)) or "*"
        self._executor.check(f"INSERT INTO {copy.table} DEFAULT VALUES")
        found = self._executor.describe(f"SELECT {wanted} FROM {copy.table} LIMIT 0", (), is_own=True)
        return columns_of(found.columns, found.runnable)

    def _parts(self, reader: CopyReader) -> Iterator[list[Row]]:
        """The rows that the client sends, so many at a time."""
        rows: list[Row] = []
        for data in self._pieces():
            rows += reader.feed(data)
            while len(rows) >= INSERT_ROWS:
                yield rows[:INSERT_ROWS]
                rows = rows[INSERT_ROWS:]
        yield rows + reader.finish()

    def _pieces(self) -> Iterator[bytes]:
        while True:
            message = frontend.read_message(*self._received())
            self._state.check_stopped()
            match message:
                case frontend.CopyData(data):
                    for start in range(0, len(data), PIECE):
                        self._state.check_stopped()
                        yield data[start : start + PIECE]
                case frontend.CopyDone():
                    return
                case frontend.CopyFail(reason):
                    raise ProtocolError(f"COPY from stdin failed: {reason}", "57014")
                case frontend.Flush() | frontend.Sync():
                    pass
                case _:
                    raise ProtocolError(f"COPY expects data, and {type(message).__name__} came")

    def _received(self) -> Frame:
        while True:
            try:
                return self._channel.receive(LOOK_S)
            except TimeoutError:
                self._state.check_stopped()

    def _insert(
        self, copy: CopyFrom, columns: Sequence[ResultColumn], rows: list[Row], is_binary: bool
    ) -> None:
        if not rows:
            return
        batch = copied_batch(rows, columns, is_binary=is_binary)
        target = f" ({', '.join(quoted(column.name) for column in columns)})" if copy.columns else ""
        self._con.raw.register(_ROWS, batch)
        self._con.execute(f"INSERT INTO {copy.table}{target} SELECT * FROM {_ROWS}")
        # not after an error: the view goes with the transaction that it ended
        self._con.raw.unregister(_ROWS)
