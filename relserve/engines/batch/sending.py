"""Sending rows that are in no batch yet: one is asked at once, the others become batches."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from relserve.cache.kept_batches import (
    BatchBook,
    BatchRowState,
    KeptBatch,
    KeptRow,
    RowCount,
    new_batch_id,
)
from relserve.call.relquery import Reply, Submission
from relserve.engines.batch.at_server import send
from relserve.engines.batch.rows import FirstRow, NoPath, dialect_of, in_words, parts_of
from relserve.engines.batch.wire import line_of
from relserve.engines.daemon_thread import in_daemon_thread, to_its_end
from relserve.engines.http.dialect import Dialect
from relserve.engines.http.server import ModelServer
from relserve.errors import Failure, FailureKind

MOST_ROWS, MOST_BYTES = 50_000, 90 * 2**20  # of one batch, as OpenAI and others take them
FIRST = -1  # the number of a row that was asked at once, and is in no file
CAP_S = 0.1  # for which a row waits for room below a cap: those before it leave none until the batch ends
NO_ROOM = "a cap leaves no room beside the rows that are in the batch; with a larger cap the rest is sent"

log = logging.getLogger(__name__)


class RowsToSend(NamedTuple):
    """A submission as a server is asked, and under which keys its rows are on record.

    Attributes:
        owner, kind: as of `KeptBatch`.
    """

    submission: Submission
    keys: list[bytes]
    owner: str
    kind: str


class _First(NamedTuple):
    """What came of the row that was asked at once, in the words that the server takes.

    Attributes:
        body: of its completion; None: it has none.
        failures: its reply, where the row failed.
    """

    dialect: Dialect
    body: object = None
    failures: tuple[Reply, ...] = ()


@dataclass
class BatchUploader:
    """Sends rows to one server, in its turn.

    Attributes:
        record: see `engine.record_of`.
        tried: kinds of calls of which a row was answered at once in this process.
        row_limits: how often a row is tried again that is asked at once; see `HttpRows`.
    """

    server: ModelServer
    book: BatchBook
    model: str
    record: str
    tried: set[str]
    row_limits: tuple[int, int]

    async def send_new(self, rows: RowsToSend) -> AsyncIterator[list[Reply]]:
        """Send what is in no batch; gives the replies to rows that get into none.

        Raises: as `at_server.send`, and what asking at once raises.
        """
        found = await in_daemon_thread(lambda: self.book.find(rows.keys))
        again = {key: row for key, row in found.items() if row.state is BatchRowState.UNASKED}
        counted = {key for key, row in again.items() if row.counted is not RowCount.NONE}
        new = [i for i, key in enumerate(rows.keys) if key not in found or key in again]
        to_count = [i for i in new if rows.keys[i] not in counted]
        if held := await _held(rows.submission, to_count):
            stay = {reply.index for reply in held}
            new = [i for i in new if i not in stay]
            yield held
        dialect, answered = await self._known_dialect(rows.kind), list[KeptRow]()
        if dialect is None and len(new) > 1:
            first = await self._ask_first(rows, new[0])
            dialect = first.dialect
            key = rows.keys[new[0]]
            if first.failures:
                yield [replace(each, is_counted=key in counted) for each in first.failures]
            elif first.body is not None:
                count, reply = RowCount.ROW if key in counted else RowCount.NONE, json.dumps(first.body)
                answered = [KeptRow(key, "", FIRST, BatchRowState.ANSWERED, 0, count, reply)]
            if first.failures or answered:
                new = new[1:]
        batches = self._batches(rows, new, dialect or self.server.dialect, again)
        while (made := await in_daemon_thread(lambda: next(batches, None))) is not None:
            batch, sent, lines = made
            on_record = [*(row._replace(batch=batch.id) for row in answered), *sent]
            begun = await to_its_end(partial(self.book.begin, batch, on_record))
            answered = []
            begun = await send(self.server, self.book, begun, (dialect or self.server.dialect).path, lines)
            log.info("%s: batch %s of %d rows is %s", self.server.name, begun.id, begun.rows, begun.server_id)

    async def _known_dialect(self, kind: str) -> Dialect | None:
        """In which the server was sent calls of this kind; None: none was sent, or none was answered."""
        if kind in self.tried:
            return self.server.dialect
        of_kind = [
            each
            for each in await in_daemon_thread(self.book.batches)
            if (each.server, each.kind) == (self.record, kind)
            and (each.answered or each.state != "completed")
        ]
        return dialect_of(of_kind[-1].dialect) if of_kind else None

    async def _ask_first(self, rows: RowsToSend, index: int) -> _First:
        """Ask one row at once: a wrong key, an empty quota and a field that is refused show in a second."""
        before = self.server.dialect
        one = replace(rows.submission.part([index], None), may_send=None)  # the caps have let it go
        asked = FirstRow(self.server, one, *self.row_limits)
        asked.start()
        try:
            came = await asked.inbox.get()
        finally:
            await asked.cancel()
        if isinstance(came, NoPath):  # it answers batches alone
            self.server.dialect = before
            return _First(before)
        if isinstance(came, Exception):
            raise came
        if asked.data is None:
            return _First(self.server.dialect, failures=(replace(came, index=index),))
        self.tried.add(rows.kind)
        return _First(asked.dialect, asked.data)

    def _batches(
        self, rows: RowsToSend, new: Sequence[int], dialect: Dialect, again: Mapping[bytes, KeptRow]
    ) -> Iterator[tuple[KeptBatch, list[KeptRow], bytes]]:
        """The batches that these rows make up: each with its rows as they go on record, and its file."""
        asked = rows.submission
        bodies = [
            json.dumps(dialect.body(self.server.model, asked.prompts[i], asked.as_for(i)), ensure_ascii=False)
            for i in new
        ]
        for part in parts_of(list(map(len, bodies)), MOST_ROWS, MOST_BYTES):
            batch = KeptBatch(
                new_batch_id(), self.model, self.record, rows.owner, rows.kind, in_words(dialect), len(part)
            )
            keys = [(rows.keys[new[n]], n) for n in part]
            sent = [
                KeptRow(key, batch.id, n, BatchRowState.SENT, *(again[key][4:6] if key in again else ()))
                for key, n in keys
            ]
            yield batch, sent, b"".join(line_of(batch, n, dialect.path, bodies[n]) for n in part)


async def _held(submission: Submission, indices: Sequence[int]) -> list[Reply]:
    """The replies to rows that caps do not let go."""
    if submission.may_send is None:
        return []
    for number, index in enumerate(indices):
        try:
            async with asyncio.timeout(CAP_S):
                why = await submission.may_send(submission.prompts[index])
        except TimeoutError:
            why = NO_ROOM
        if why:
            return [Reply(each, None, Failure(FailureKind.CAP, why)) for each in indices[number:]]
    return []
