"""Rows of cursors that stay open beside other statements: few of them in memory, and so many in all."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pyarrow as pa
import pytest

from relserve.errors import ProtocolError
from relserve.server.client import kept_rows
from relserve.server.client.kept_rows import KeptRoom
from relserve.server.client.results import ResultRows

TYPES = """
SELECT i, repeat('x', 100) AS s, [i] AS l, {'a': i} AS t,
    (CASE WHEN i % 2 = 0 THEN 'odd' ELSE 'even' END)::ENUM('odd', 'even') AS e
FROM range(5000) r(i)
"""


def batches() -> Iterator[pa.RecordBatch]:
    with duckdb.connect() as con:
        yield from con.sql(TYPES).to_arrow_reader(500)


def test_rows_beyond_a_few_are_kept_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_rows, "IN_MEMORY", 100_000)
    room = KeptRoom()
    rows = ResultRows((), batches(), room=room)
    before = list(rows.take(700))
    rows.keep()
    assert sum(each.nbytes for each in rows._kept._first) <= 100_000
    assert pa.Table.from_batches([*before, *rows.take()]) == pa.Table.from_batches(batches())
    room.take(kept_rows.MOST)  # nothing is kept any more


def test_the_cursors_of_a_client_have_room_for_so_much_together() -> None:
    room = KeptRoom(1_000_000)
    first, second = (ResultRows((), batches(), room=room) for _ in range(2))
    first.keep()
    with pytest.raises(ProtocolError, match="that are kept for you have more than 0 MiB"):
        second.keep()
    with pytest.raises(ProtocolError, match="was not kept"):  # it does not seem to end there
        list(second.take())
    first.close()
    again = ResultRows((), batches(), room=room)
    again.keep()
    assert sum(each.num_rows for each in again.take()) == 5000
