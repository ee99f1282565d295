"""How batches stand at their server: sent, looked at, and found again after a crash."""

from __future__ import annotations

import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

from relserve.cache.kept_batches import SENDING, BatchBook, KeptBatch
from relserve.engines.batch import wire
from relserve.engines.daemon_thread import to_its_end
from relserve.engines.http.client import NO_RESPONSE, StatusError
from relserve.engines.http.faults import fault_of
from relserve.engines.http.server import ModelServer
from relserve.errors import EngineDeadError, EngineError, EngineStartError

FAULTS = (StatusError, *NO_RESPONSE, wire.NotABatch, ValueError, RecursionError)
REQUEST_TIMEOUT = 408

T = TypeVar("T")


async def looked(server: ModelServer, book: BatchBook, batch: KeptBatch) -> KeptBatch:
    """A batch as it stands now; once it has ended, all that came of it is kept.

    Raises:
        EngineError: the server does not say.
    """
    if batch.has_ended:
        return batch
    if batch.state == SENDING:
        return await _found_or_given_up(server, book, batch)
    now, told = await asked(server, batch, lambda: wire.look(server.client, batch))
    if not wire.has_ended(now):
        await to_its_end(partial(book.put, now))
        return now
    with tempfile.TemporaryFile() as lines:
        await asked(server, batch, lambda: wire.download(server.client, told, lines))
        lines.seek(0)
        # Of 50,000 rows that takes seconds, in which other relQueries of the process go on.
        return await to_its_end(lambda: book.land(now, wire.landed_rows(now, lines, book.rows_of(batch.id))))


async def cancelled(server: ModelServer, book: BatchBook, batch: KeptBatch) -> KeptBatch:
    """A batch that its server was told to give up, unless it has ended; raises as `looked`."""
    batch = await looked(server, book, batch)
    if batch.has_ended:
        return batch
    now = await asked(server, batch, lambda: wire.cancel(server.client, batch))
    await to_its_end(partial(book.put, now))
    return await looked(server, book, batch)


async def asked(server: ModelServer, batch: KeptBatch, ask: Callable[[], Awaitable[T]]) -> T:
    """What a server says about a batch; raises EngineError."""
    try:
        return await ask()
    except FAULTS as error:
        raise engine_error(server, batch, error) from error


def engine_error(server: ModelServer, batch: KeptBatch, error: Exception) -> EngineError:
    """Why a batch gets no further, and how to go on."""
    fault = fault_of(error)
    if fault.status in (401, 403):
        return EngineStartError(server.key.refused(server.name, fault.message))
    if fault.status in wire.NO_SUCH_PATH and batch.server_id is None:
        return EngineStartError(
            f"{server.name} takes no batches ({fault.message}): name it without batch:, and its rows are "
            "asked at once"
        )
    if fault.status == 404:
        return EngineDeadError(
            f"{server.name} knows no batch {batch.server_id} any more ({fault.message}); `relserve batches "
            f"forget {batch.id}` lets its rows be sent again"
        )
    return EngineDeadError(
        f"{server.name} did not say how batch {batch.id} stands ({fault.message}); what was sent is on "
        "record: run the statement again"
    )


async def _found_or_given_up(server: ModelServer, book: BatchBook, batch: KeptBatch) -> KeptBatch:
    """A batch that was being sent when its process ended, or its connection."""
    if batch.file_id is None:
        return await to_its_end(partial(book.give_up, batch, "its process ended before it was uploaded"))
    try:
        found = await wire.find_lost(server.client, batch)
    except StatusError as error:
        if error.status not in wire.NO_SUCH_PATH:
            raise engine_error(server, batch, error) from error
        raise EngineError(
            f"it is not known whether {server.name} has the batch {batch.id}, for the process that sent it "
            f"ended, and the server lists no batches: look there for one of the file {batch.file_id}; "
            f"`relserve batches forget {batch.id}` lets its rows be sent again"
        ) from error
    except FAULTS as error:
        raise engine_error(server, batch, error) from error
    if found is None:
        return await to_its_end(partial(book.give_up, batch, "its process ended before the server had it"))
    await to_its_end(partial(book.put, found))
    return await looked(server, book, found)


async def send(server: ModelServer, book: BatchBook, batch: KeptBatch, path: str, lines: bytes) -> KeptBatch:
    """Upload a batch that is on record and have it begun.

    Raises:
        EngineError: the server refused it, and its rows may be sent again; or it is not known whether the
            server has it, which the next look finds out.
    """
    try:
        batch = replace(batch, file_id=await wire.upload(server.client, batch, lines))
    except FAULTS as error:
        await to_its_end(partial(book.give_up, batch, f"it could not be uploaded: {fault_of(error).message}"))
        raise engine_error(server, batch, error) from error
    await to_its_end(partial(book.put, batch))
    try:
        batch = await wire.create(server.client, batch, path)
    except StatusError as error:
        if error.status < 500 and error.status != REQUEST_TIMEOUT:
            await to_its_end(partial(book.give_up, batch, fault_of(error).message))
        raise engine_error(server, batch, error) from error
    except FAULTS as error:
        raise engine_error(server, batch, error) from error
    await to_its_end(partial(book.put, batch))
    return batch
