"""pyarrow tables, batches and arrays, and whatever else gives its columns through Arrow's C interface."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


class ArrowFrame:
    """A pyarrow Table, or anything that makes one; answers are a ChunkedArray."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.names, self.num_rows = table.column_names, table.num_rows

    def column(self, i: int) -> pa.ChunkedArray:
        return self._table.column(i)

    def wrap(self, answers: pa.Array, name: str) -> Any:
        return pa.chunked_array([answers])


class ArrowBatch:
    """A pyarrow RecordBatch; answers are an Array, which is what a batch is made of."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch
        self.names, self.num_rows = batch.schema.names, batch.num_rows

    def column(self, i: int) -> pa.Array:
        return self._batch.column(i)

    def wrap(self, answers: pa.Array, name: str) -> Any:
        return answers


class ArrowColumn:
    """A pyarrow Array or ChunkedArray by itself; answers have its form."""

    def __init__(self, column: pa.Array | pa.ChunkedArray) -> None:
        self._column = column
        self.names, self.num_rows = ["value"], len(column)

    def column(self, i: int) -> pa.Array | pa.ChunkedArray:
        return self._column

    def wrap(self, answers: pa.Array, name: str) -> Any:
        return pa.chunked_array([answers]) if isinstance(self._column, pa.ChunkedArray) else answers
