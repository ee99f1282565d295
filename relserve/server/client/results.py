"""The rows of a statement as a client takes them: all at once, or some at a time beside other statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from relserve.errors import ProtocolError
from relserve.server.client.kept_rows import KeptRoom, KeptRows
from relserve.server.wire.types import ResultColumn

BATCH_ROWS = 2048
SLICE_BYTES = 4 << 20  # most of what is taken at a time, for messages of it are made beside it


class ResultRows:
    """An open result, read forward.

    Args:
        columns: of the result.
        batches: its rows.
        stop: ends what still makes rows.
        room: for rows that are kept.

    Attributes:
        num_taken: rows so far.
    """

    def __init__(
        self,
        columns: Sequence[ResultColumn],
        batches: Iterator[pa.RecordBatch],
        stop: Callable[[], None] = lambda: None,
        room: KeptRoom | None = None,
    ) -> None:
        self.columns = columns
        self.num_taken = 0
        self._batches, self._stop, self._room = batches, stop, room or KeptRoom()
        self._kept: KeptRows | None = None
        self._lost: BaseException | None = None  # why the rows that are left are not to be had
        self._left: pa.RecordBatch | None = None
        self._is_exhausted = self.is_kept = False

    def take(self, most: int | None = None) -> Iterator[pa.RecordBatch]:
        """The next rows, at most `most`; None: all."""
        left = most
        while left is None or left > 0:
            batch = self._peek()
            if batch is None:
                return
            count = _fitting(batch, batch.num_rows if left is None else min(left, batch.num_rows))
            batch, self._left = batch.slice(0, count), batch.slice(count) if count < batch.num_rows else None
            self.num_taken += batch.num_rows
            if left is not None:
                left -= batch.num_rows
            yield batch

    def keep(self) -> None:
        """Read all rows, so that the connection can do something else.

        Raises:
            ProtocolError: there is no room for them.
        """
        if not self.is_kept:
            try:
                self._kept = KeptRows(self._room, self._batches)
            except BaseException as error:
                self.close()
                self._is_exhausted, self._lost = False, error
                raise
            self._batches = iter(self._kept)
            self.is_kept = True

    def close(self) -> None:
        """No more rows are wanted."""
        if not self._is_exhausted and not self.is_kept:
            self._stop()
        if self._kept is not None:
            self._kept.close()
        self._is_exhausted, self._left, self._batches = True, None, iter(())

    def _peek(self) -> pa.RecordBatch | None:
        if self._lost is not None:
            raise ProtocolError(f"the rest of these rows was not kept: {self._lost}", "24000")
        while self._left is None and not self._is_exhausted:
            batch = next(self._batches, None)
            if batch is None:
                self._is_exhausted = True
            elif batch.num_rows:
                self._left = batch
        return self._left


def _fitting(batch: pa.RecordBatch, count: int) -> int:
    """How many of the first rows, at least one, are not too large together."""
    most = SLICE_BYTES + batch.slice(0, 0).nbytes  # dictionaries, which every slice has
    while count > 1 and batch.slice(0, count).nbytes > most:
        count //= 2
    return count


def rows_of_text(columns: Sequence[ResultColumn], rows: Sequence[Sequence[str | None]]) -> ResultRows:
    """Rows of texts that the server makes itself."""
    arrays = [pa.array([row[i] for row in rows], pa.string()) for i in range(len(columns))]
    batch = pa.RecordBatch.from_arrays(arrays, [f"c{i}" for i in range(len(columns))])
    return ResultRows(columns, iter([batch]))
