"""The labelled rows of a frame, or some of them drawn at random."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from relserve_duckdb.user.relation import Relation

from relserve.errors import UsageError
from relserve.frames.call import Source
from relserve.frames.dispatch import source_of
from relserve.frames.picking import find_column


class LabelledSample:
    """Some rows of a frame, all with labels; a frame itself (`Source`).

    Attributes:
        places: of its rows in the whole frame.
        labels: of its rows, as they are compared.
        num_labelled: rows of the whole frame with a label.
    """

    def __init__(self, source: Source, labels: Sequence[Any], places: list[int], num_labelled: int) -> None:
        self._source, self._indices = source, pa.array(places, pa.int64())
        self.places, self.labels = places, [labels[place] for place in places]
        self.num_labelled = num_labelled
        self.names, self.num_rows = source.names, len(places)

    def column(self, i: int) -> pa.Array | pa.ChunkedArray:
        """See `Source`."""
        return self._source.column(i).take(self._indices)

    def wrap(self, answers: pa.Array, name: str) -> pa.Array:
        """See `Source`."""
        return answers


def whole(data: Any) -> Source:
    """The frame that data is; the rows of a relation are read.

    Raises:
        UsageError: the data is of no known kind.
    """
    if isinstance(data, (Relation, duckdb.DuckDBPyRelation)):
        data = data.to_arrow_table()
    return source_of(data, "evaluate")


def label_column(source: Source, label: Any, named: str = "label") -> pa.Array | pa.ChunkedArray:
    """The right answers, one a row.

    Args:
        label: the name of a column of the frame, or the values.
        named: what the argument is called, for messages.

    Raises:
        UsageError: there is no such column, there are not as many values as rows, or no row has a label.
    """
    if isinstance(label, str):
        return _with_labels(source.column(find_column(f"{named}=", label, source.names)))
    if isinstance(label, (list, tuple, np.ndarray)):
        try:
            column = pa.array(label, from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise UsageError(f"{named}= holds values of several types: {error}") from error
    else:
        column = source_of(label, "evaluate").column(0)
    if len(column) != source.num_rows:
        raise UsageError(f"{named}= has {len(column):,} values for {source.num_rows:,} rows")
    return _with_labels(column)


def _with_labels(column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    if column.null_count == len(column):
        raise UsageError(f"none of the {len(column):,} rows has a label; label some, 50 are a good start")
    return column


def sample_of(source: Source, labels: Sequence[Any], rows: int | None, seed: int) -> LabelledSample:
    """The rows to ask, in the order of the data.

    Args:
        labels: of all rows, None where there is none.
        rows: how many to draw at random; None: all that have a label.

    Raises:
        UsageError: no row is wanted.
    """
    labelled = [place for place, label in enumerate(labels) if label is not None]
    if rows is not None and rows < 1:
        raise UsageError(f"rows must be at least 1, not {rows}")
    if rows is None or rows >= len(labelled):
        return LabelledSample(source, labels, labelled, len(labelled))
    drawn = sorted(random.Random(seed).sample(labelled, rows))
    return LabelledSample(source, labels, drawn, len(labelled))
