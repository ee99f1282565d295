"""A statement's rows as Arrow batches, as they come, with DuckDB's errors as themselves.

An error on the way comes out of Arrow's reader as an OSError that quotes DuckDB's; here it is DuckDB's again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pyarrow as pa

from relserve_duckdb.text.duckdb_errors import error_of


class ResultStream:
    """An open result.

    Attributes:
        columns: name and DuckDB's type of each.
    """

    def __init__(
        self,
        columns: Sequence[tuple[str, str]],
        reader: Callable[[], pa.RecordBatchReader],
        guarded: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self.columns = columns
        self._open, self._guarded = reader, guarded
        self._reader: pa.RecordBatchReader | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """The rows; running starts with the first batch.

        Raises:
            duckdb.Error, RelserveError: as `Connection.execute`.
        """
        while True:
            with self._guarded(), as_duckdb():
                if self._reader is None:
                    self._reader = self._open()
                batch = next(self._reader, None)
            if batch is None:
                return
            yield batch

    def close(self) -> None:
        """No more rows are wanted."""
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()


@contextmanager
def as_duckdb() -> Iterator[None]:
    """An error out of Arrow's reader is DuckDB's again."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        told = error_of(str(error))
        if told is None:
            raise
        raise told from error


def open_stream(
    relation: Any, batch_rows: int, guarded: Callable[[], AbstractContextManager[None]]
) -> ResultStream:
    """A relation's rows, not yet running."""
    columns = list(zip(relation.columns, map(str, relation.types), strict=True))
    return ResultStream(columns, lambda: relation.to_arrow_reader(batch_rows), guarded)
