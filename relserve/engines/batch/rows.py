"""The rows of a batch: how they are written for a server, and the replies that their kept answers are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from hashlib import blake2b
from typing import Any

from relserve.cache.kept_batches import BatchRowState, KeptBatch, KeptRow, RowCount
from relserve.call.relquery import Reply, Submission, Usage
from relserve.call.reply_keys import KEY_BYTES, keys_of
from relserve.engines.batch.wire import NO_SUCH_PATH
from relserve.engines.http.dialect import Dialect
from relserve.engines.http.faults import Fault
from relserve.engines.http.label_reply import read_labels
from relserve.engines.http.reply import UnreadableReply, read_reply
from relserve.engines.http.rows import NO_SUCH_MODEL, HttpRows
from relserve.errors import Failure, FailureKind


def row_keys(server: str, submission: Submission) -> list[bytes]:
    """A key for each prompt; of a prompt that stands there several times, one for each time."""
    times = Counter[bytes]()
    keys = []
    for key in keys_of(server, submission):
        times[key] += 1
        again = times[key]
        keys.append(key if again == 1 else blake2b(b"%b %d" % (key, again), digest_size=KEY_BYTES).digest())
    return keys


def in_words(dialect: Dialect) -> str:
    """A dialect as JSON, for processes that read what was asked in it."""
    told = asdict(dialect).items()
    return json.dumps({name: sorted(v) if isinstance(v, frozenset) else v for name, v in told})


def dialect_of(text: str) -> Dialect:
    """What `in_words` wrote; fields that this release does not know are left out."""
    known = {each.name for each in fields(Dialect)}
    told = {name: value for name, value in json.loads(text).items() if name in known}
    kept: dict[str, Any] = {name: frozenset(v) if isinstance(v, list) else v for name, v in told.items()}
    return Dialect(**kept)


def reply_in(data: object, index: int, dialect: Dialect, submission: Submission) -> Reply:
    """The reply to a row in the body of its completion.

    Args:
        submission: as the server was asked; of this row alone where rows have grammars of their own.

    Raises: as `read_reply`.
    """
    if submission.sampling.read is not None:
        return read_labels(data, index, submission.labels, submission.sampling.label_mass)
    return read_reply(data, index, dialect.wraps(submission.sampling.grammar), submission.sampling)


def reply_of(row: KeptRow, index: int, batch: KeptBatch, submission: Submission) -> Reply:
    """The reply that was kept of a row, or that it has none yet.

    Args:
        submission: as of `reply_in`.
    """
    is_counted = row.counted is not RowCount.NONE
    if row.state is BatchRowState.FAILED:
        kind, message = json.loads(row.reply)
        return Reply(index, None, Failure(FailureKind(kind), message), is_counted=is_counted)
    if row.state is not BatchRowState.ANSWERED:
        waits = Failure(FailureKind.IN_BATCH, waiting_text(batch))
        return Reply(index, None, waits, is_counted=is_counted)
    try:
        reply = reply_in(json.loads(row.reply), index, dialect_of(batch.dialect), submission)
    except (UnreadableReply, RecursionError) as error:
        return Reply(index, None, Failure(FailureKind.UNPARSABLE, str(error)), is_counted=is_counted)
    usage = Usage() if row.counted is RowCount.TOKENS else reply.usage
    return replace(reply, usage=usage, is_counted=is_counted)


def waiting_text(batch: KeptBatch) -> str:
    """Why a row has no answer yet."""
    return (
        f"in batch {batch.id} ({batch.state}): run the statement again when `FROM llm_batches()` shows that "
        "the batch has ended"
    )


class NoPath(Exception):
    """The server answers batches, and has no path at which one row is asked at once."""


@dataclass(eq=False)
class FirstRow(HttpRows):
    """One row that is asked at once, before the others are sent as a batch: it shows what the server refuses.

    Attributes:
        data: the body of its completion; None: it has none.
    """

    data: object = None
    dialect: Dialect = field(default_factory=Dialect)

    async def _request(
        self, indices: tuple[int, ...], dialect: Dialect, submission: Submission
    ) -> list[Reply]:
        (index,) = indices
        body = dialect.body(self.server.model, submission.prompts[index], submission)
        data = await self._post(dialect.path, body)
        replies = [reply_in(data, index, dialect, submission)]
        self.data, self.dialect = data, dialect
        return replies

    def _raise_if_useless(self, fault: Fault, dialect: Dialect) -> None:
        if fault.status in NO_SUCH_PATH and not dialect.chat and not NO_SUCH_MODEL.match(fault.message):
            raise NoPath
        super()._raise_if_useless(fault, dialect)


def parts_of(sizes: Sequence[int], most_rows: int, most_bytes: int) -> list[range]:
    """Rows of these sizes, in order, in as few batches as a server takes; a too large row is alone."""
    if not sizes:
        return []
    parts, first, total = [], 0, 0
    for number, size in enumerate(sizes):
        if number > first and (number - first >= most_rows or total + size > most_bytes):
            parts.append(range(first, number))
            first, total = number, 0
        total += size
    return [*parts, range(first, len(sizes))]
