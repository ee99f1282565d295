"""Rows that are read before their client fetches them: of a cursor that stays open while its connection does
something else, and of EXECUTE and RETURNING. The first are kept in memory, the others in a file, so that one
client's rows take no memory from others.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from typing import IO

import pyarrow as pa

from relserve.errors import ProtocolError

IN_MEMORY = 1 << 24  # bytes of one result
MOST = 1 << 30  # bytes of all cursors of a client
MOST_OF_RESULT = 10 << 30  # bytes of what EXECUTE or RETURNING gives, as DuckDB's own temporary files


class KeptRoom:
    """How much may still be kept.

    Args:
        most: bytes in all.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = self._left = most

    def take(self, num_bytes: int) -> None:
        """Keep more.

        Raises:
            ProtocolError: 53400, it is too much.
        """
        if num_bytes > self._left:
            raise ProtocolError(
                f"the rows that are kept for you have more than {self._most >> 20:,} MiB",
                "53400",
                "Of a cursor, fetch all before the next statement; of RETURNING and EXECUTE, ask for fewer.",
            )
        self._left -= num_bytes

    def give_back(self, num_bytes: int) -> None:
        """So much is not kept any more."""
        self._left += num_bytes


class KeptRows:
    """The rows that are left of a result, read at once, to be gone through once.

    Raises:
        ProtocolError: see `KeptRoom.take`.
    """

    def __init__(self, room: KeptRoom, batches: Iterable[pa.RecordBatch]) -> None:
        self._room, self._num_bytes = room, 0
        self._first: list[pa.RecordBatch] = []
        self._file: IO[bytes] | None = None
        try:
            self._read(batches)
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield from self._first
        if self._file is not None:
            yield from pa.ipc.open_stream(self._file)
        self.close()

    def close(self) -> None:
        """They are not wanted any more."""
        self._room.give_back(self._num_bytes)
        self._num_bytes, self._first = 0, []
        if self._file is not None:
            self._file.close()
            self._file = None

    def _read(self, batches: Iterable[pa.RecordBatch]) -> None:
        writer = None
        for batch in batches:
            self._room.take(batch.nbytes)
            self._num_bytes += batch.nbytes
            if self._num_bytes <= IN_MEMORY:
                self._first.append(batch)
                continue
            if writer is None or self._file is None:
                self._file = tempfile.TemporaryFile(prefix="relserve-cursor-")
                writer = pa.ipc.new_stream(self._file, batch.schema)
            writer.write_batch(batch)
        if writer is not None and self._file is not None:
            writer.close()
            self._file.seek(0)
