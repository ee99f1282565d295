"""Rows are taken in slices that are small enough to make messages of."""

from __future__ import annotations

import pyarrow as pa
import pytest

from relserve.server.client.results import SLICE_BYTES, ResultRows


def taken(batch: pa.RecordBatch, most: int | None = None) -> list[pa.RecordBatch]:
    rows = ResultRows((), iter([batch]))
    slices = list(rows.take(most))
    assert rows.num_taken == sum(each.num_rows for each in slices)
    return slices


def test_large_rows_come_few_at_a_time() -> None:
    batch = pa.record_batch({"a": [f"{i}" * 50_000 for i in range(300)]})
    slices = taken(batch)
    assert max(each.nbytes for each in slices) <= SLICE_BYTES
    assert len(slices) < 50
    assert pa.Table.from_batches(slices).combine_chunks().to_batches() == [batch]


def test_a_row_that_is_too_large_comes_alone() -> None:
    batch = pa.record_batch({"a": ["x" * (SLICE_BYTES + 1), "y", "z"]})
    assert [each.num_rows for each in taken(batch)] == [1, 2]


@pytest.mark.parametrize("most", [1, 7, 299])
def test_no_more_are_taken_than_asked_for(most: int) -> None:
    batch = pa.record_batch({"a": [f"{i}" * 50_000 for i in range(300)]})
    slices = taken(batch, most)
    assert pa.Table.from_batches(slices).equals(pa.Table.from_batches([batch.slice(0, most)]))


def test_a_large_dictionary_does_not_make_small_slices() -> None:
    words = pa.array([f"{i:0200}" for i in range(50_000)])
    column = pa.DictionaryArray.from_arrays(pa.array(range(2000), pa.int32()), words)
    assert words.nbytes > SLICE_BYTES
    assert [each.num_rows for each in taken(pa.record_batch({"a": column}))] == [2000]
