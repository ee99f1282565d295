"""Folding: distinct rows in order of first appearance, and answers spread back over all rows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from relserve.call.template import text_of
from relserve.frames.fold import encode, fold

CELLS = {
    pa.string(): st.sampled_from([None, "", "a", "b", "1", "é"]),
    pa.int64(): st.sampled_from([None, 0, 1, -1, 2**63 - 1]),
    pa.float64(): st.sampled_from([None, 0.0, -0.0, 1.0, float("inf")]),
    pa.bool_(): st.sampled_from([None, True, False]),
    pa.list_(pa.int64()): st.sampled_from([None, [], [1], [1, None]]),
}


@st.composite
def frames(draw: st.DrawFn) -> list[tuple[pa.ChunkedArray, list[Any]]]:
    """Some columns, in chunks, some of them dictionaries and slices, and their values."""
    num_rows = draw(st.integers(0, 30))
    columns = []
    for _ in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(list(CELLS)))
        values = draw(st.lists(CELLS[kind], min_size=num_rows, max_size=num_rows))
        array = pa.array([None, *values], kind)[1:]
        if not pa.types.is_list(kind) and draw(st.booleans()):
            array = array.dictionary_encode()
        cut = draw(st.integers(0, num_rows))
        columns.append((pa.chunked_array([array[:cut], array[cut:]]), values))
    return columns


@given(frames())
def test_folding_is_that_of_the_rows_texts(columns: list[tuple[pa.ChunkedArray, list[Any]]]) -> None:
    folded = fold([encode(column) for column, _ in columns])
    rows = [
        None if None in row else tuple(map(text_of, row))
        for row in zip(*(values for _, values in columns), strict=True)
    ]
    counts = Counter(row for row in rows if row is not None)
    assert [tuple(map(text_of, row)) for row in folded.rows] == list(counts)
    assert folded.counts == list(counts.values())
    answers = pa.array([repr(row) for row in counts], pa.string())
    assert folded.spread(answers).to_pylist() == [None if row is None else repr(row) for row in rows]
