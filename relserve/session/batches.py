"""llm_batches(): what was sent as batches and how it stands, told by the servers that have it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa

from relserve.cache.kept_batches import BatchBook, KeptBatch
from relserve.engines.loop import spawn
from relserve.engines.protocol import Engine
from relserve.errors import Cancelled, RelserveError

LOOK_S = 60.0  # for which the table waits for a server

BATCH_SCHEMA = pa.schema(
    [
        ("batch", pa.string()), ("model", pa.string()), ("state", pa.string()), ("rows", pa.int64()),
        ("answered", pa.int64()), ("failed", pa.int64()), ("sent", pa.timestamp("us", "UTC")),
        ("expires", pa.timestamp("us", "UTC")), ("ended", pa.timestamp("us", "UTC")),
        ("server_id", pa.string()), ("message", pa.string()),
    ]
)  # fmt: skip


@dataclass(frozen=True)
class SentBatches:
    """The batches of one person; safe for several threads.

    Attributes:
        book: None: none are on record.
        owner: whose they are, a server's user; "": of who runs the process.
    """

    book: BatchBook | None = None
    owner: str = ""

    def table(self, find_engine: Callable[[str | None], Engine]) -> pa.Table:
        """One row a batch, the oldest first; servers are asked about those that have not ended.

        Where a server does not say, the row has what was known before, and the message says why.
        """
        return pa.Table.from_pylist([_row(each) for each in self.looked(find_engine)], BATCH_SCHEMA)

    def looked(self, find_engine: Callable[[str | None], Engine]) -> Sequence[KeptBatch]:
        """The batches as they stand now."""
        if self.book is None:
            return []
        ours = [each for each in self.book.batches() if each.owner == self.owner]
        return [each if each.has_ended else _looked(each, find_engine) for each in ours]


def _looked(batch: KeptBatch, find_engine: Callable[[str | None], Engine]) -> KeptBatch:
    try:
        look = getattr(find_engine(batch.model), "look", None)
        if look is None:
            return batch
        found: KeptBatch = spawn(look(batch)).result(LOOK_S)
        return found
    except Cancelled:
        raise
    except (RelserveError, TimeoutError) as error:
        return replace(batch, message=str(error) or "the server did not say in time how it stands")


def _row(batch: KeptBatch) -> dict[str, Any]:
    return dict(
        batch=batch.id, model=batch.model, state=batch.state, rows=batch.rows, answered=batch.answered,
        failed=batch.failed, sent=_time(batch.sent), expires=_time(batch.expires), ended=_time(batch.ended),
        server_id=batch.server_id, message=batch.message or None,
    )  # fmt: skip


def _time(at: float | None) -> datetime | None:
    return None if at is None else datetime.fromtimestamp(at, timezone.utc)
