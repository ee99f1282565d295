"""The batch engine: a relQuery is sent as a batch, whose answers are taken when it is asked again."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import NamedTuple

from relserve.cache.kept_batches import BatchBook, BatchRowState, KeptBatch, RowCount
from relserve.call.hosts import BATCH
from relserve.call.relquery import Reply, Submission
from relserve.engines import fingerprint
from relserve.engines.batch.at_server import cancelled, looked
from relserve.engines.batch.rows import reply_of, row_keys
from relserve.engines.batch.sending import MOST_BYTES, MOST_ROWS, BatchUploader, RowsToSend
from relserve.engines.daemon_thread import in_daemon_thread, to_its_end
from relserve.engines.http.engine import HttpEngine
from relserve.engines.http.label_reply import as_asked
from relserve.engines.http.server import ModelServer
from relserve.errors import EngineError, OptionError

POLL_S = 0.1  # between two looks whether another process is done sending


class _Kept(NamedTuple):
    """Replies, and what is to be put on record as soon as they are given.

    Attributes:
        counted: what counts of each row from then on.
        failed: are asked again the next time, as failed rows are, and
        refused: likewise, with their whole batch.
    """

    replies: list[Reply]
    counted: dict[bytes, RowCount]
    failed: list[bytes]
    refused: list[bytes]


class BatchEngine:
    """Rows go to an OpenAI-compatible server as files and batches, and their answers come within a day.

    Args:
        http: the engine that asks the same server at once.
        folder: where what was sent is on record.

    Attributes:
        book: that record.
    """

    asks_before_sending = True  # see `Submission.may_send`
    own_blocks = MOST_ROWS, MOST_BYTES  # each block is a batch, of which a server takes only so many

    def __init__(self, http: HttpEngine, folder: Path) -> None:
        self._http, self.book = http, BatchBook(folder)
        self._tried: set[str] = set()  # kinds of calls of which a row was answered at once

    @property
    def model(self) -> str:
        """The name by which users ask for it."""
        return BATCH + self._http.model

    async def fingerprint(self) -> str | None:
        """See `Engine.fingerprint`: kept answers are those of the same server asked at once."""
        return await self._http.fingerprint()

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        """See `Engine.answer`; rows that were sent and have no answer yet fail with IN_BATCH.

        Raises:
            OptionError: vectors are wanted, or a sum over all spellings of choices.
            ModelError: the server does not serve the model.
        """
        if not submission.prompts:
            return
        if submission.sampling.embeds:
            raise OptionError(
                f"llm_embed() is not sent as a batch; name the server alone: {self._http.model!r}"
            )
        asked, server = as_asked(submission), await self._http.start()
        record = record_of(server)
        keys = await in_daemon_thread(lambda: row_keys(record, submission))
        rows = RowsToSend(asked, keys, submission.user or "", submission.kind or "")
        replied: set[int] = set()
        failure: EngineError | None = None
        with self._says_what_to_mend():
            async with self._turn(record):
                await self._look_at(server, rows.keys)
                limits = self._http.row_limits
                sender = BatchUploader(server, self.book, self.model, record, self._tried, limits)
                try:
                    async for replies in sender.send_new(rows):
                        replied.update(reply.index for reply in replies)
                        yield replies
                except EngineError as error:
                    failure = error  # told after what was sent before, which counts
            kept = await in_daemon_thread(lambda: self._kept(rows, replied))
            try:
                if kept.replies:
                    yield kept.replies
            finally:  # not before: whoever is cancelled until then has counted nothing
                await to_its_end(lambda: self._mark(kept))
        if failure is not None:
            raise failure

    async def find_counted(self, submission: Submission) -> list[int]:
        """The positions of prompts that caps have counted before: asking them sends nothing new.

        Raises: as `answer`, of a server or a record that is not to be had.
        """
        with self._says_what_to_mend():
            if not await in_daemon_thread(self.book.batches):
                return []
            keys = row_keys(record_of(await self._http.start()), submission)
            found = await in_daemon_thread(lambda: self.book.find(keys))
        return [i for i, key in enumerate(keys) if key in found and found[key].counted is not RowCount.NONE]

    async def look(self, batch: KeptBatch) -> KeptBatch:
        """Ask the server how a batch of this model stands, and keep what came of it once it has ended.

        Raises:
            EngineError, ModelError: the server does not say.
        """
        server = await self._http.start()
        with self._says_what_to_mend():
            async with self._turn(record_of(server)):
                return await looked(server, self.book, batch)

    async def cancel(self, batch: KeptBatch) -> KeptBatch:
        """Have the server give a batch up; what it answered until then is kept. Raises as `look`."""
        server = await self._http.start()
        with self._says_what_to_mend():
            async with self._turn(record_of(server)):
                return await cancelled(server, self.book, batch)

    async def close(self) -> None:
        """See `Engine.close`; batches go on at their servers."""
        await self._http.close()

    def _kept(self, rows: RowsToSend, replied: set[int]) -> _Kept:
        """What is on record of all rows that are in a batch, or were answered in one, and have no reply."""
        found, batches = self.book.find(rows.keys), {each.id: each for each in self.book.batches()}
        kept = _Kept([], {}, [], [])
        for index, key in enumerate(rows.keys):
            row = found.get(key)
            if index in replied or row is None or row.state is BatchRowState.UNASKED:
                continue  # the server refused to take what is still to be sent
            batch = batches[row.batch]
            kept.replies.append(reply_of(row, index, batch, rows.submission.as_for(index)))
            if row.state is BatchRowState.FAILED:
                (kept.refused if batch.state == "failed" else kept.failed).append(key)
            now = RowCount.TOKENS if row.state is BatchRowState.ANSWERED else RowCount.ROW
            if row.counted not in (now, RowCount.TOKENS):
                kept.counted[key] = now
        return kept

    def _mark(self, kept: _Kept) -> None:
        """Put on record that these replies were given."""
        self.book.count(kept.counted)
        self.book.forget(kept.failed)
        self.book.reopen(kept.refused)

    async def _look_at(self, server: ModelServer, keys: list[bytes]) -> None:
        """Look at the batches for which these rows wait."""
        found = await in_daemon_thread(lambda: self.book.find(keys))
        waiting = {row.batch for row in found.values() if row.state is BatchRowState.SENT}
        for batch in await in_daemon_thread(self.book.batches):
            if batch.id in waiting:
                await looked(server, self.book, batch)

    @asynccontextmanager
    async def _turn(self, record: str) -> AsyncGenerator[None]:
        """While inside, nobody else sends to the server by this record."""
        while True:
            with self.book.turn(record) as is_ours:
                if is_ours:
                    yield
                    return
            await asyncio.sleep(POLL_S)

    @contextmanager
    def _says_what_to_mend(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise EngineError(
                f"what is sent as batches cannot be put on record in {self.book.folder} ({error}); no row is "
                "sent without it, for it could be paid twice: mend the folder, or set RELSERVE_CACHE_DIR"
            ) from error


def record_of(server: ModelServer) -> str:
    """Under which rows of a server's model are on record, whatever the name in a call."""
    return fingerprint.of_server(server.client.base_url, server.model)
