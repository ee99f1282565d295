"""pyarrow tables and batches, and whatever gives its columns through Arrow's C interface."""

from __future__ import annotations

from typing import Any

import pyarrow as pa


class ArrowFrame:
    """A pyarrow Table or RecordBatch; answers are what its columns are, a ChunkedArray or an Array."""

    def __init__(self, data: pa.Table | pa.RecordBatch) -> None:
        self._data = data
        self.names, self.num_rows = data.schema.names, data.num_rows

    def column(self, i: int) -> pa.Array | pa.ChunkedArray:
        return self._data.column(i)

    def wrap(self, answers: pa.Array, name: str) -> Any:
        return pa.chunked_array([answers]) if isinstance(self._data, pa.Table) else answers
