"""Results whose rows come later, held to the limits of a question's SQL."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from itertools import chain, islice
from typing import Any

import pyarrow as pa

from relserve.text2sql.guard.watchdog import Watchdog
from relserve_duckdb.user.stream import as_duckdb


def watched_batches(reader: pa.RecordBatchReader, watchdog: Watchdog) -> Iterator[pa.RecordBatch]:
    """The batches of a result, each made under the watchdog."""
    while True:
        with watchdog.watching(), as_duckdb():
            batch = next(reader, None)
        if batch is None:
            return
        yield batch


def watched_rows(rows: Generator[Any, None, None], watchdog: Watchdog) -> Iterator[Any]:
    """The rows of a result, of which DuckDB makes all before the first is given."""
    with watchdog.watching():
        first = list(islice(rows, 1))  # for which DuckDB runs to the end
    yield from chain(first, rows)
