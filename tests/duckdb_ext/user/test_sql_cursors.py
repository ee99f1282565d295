"""Cursors of a connection: what they know of each other, and what they leave behind."""

from __future__ import annotations

import gc
from typing import Any

import pyarrow as pa
from relserve_duckdb import Connection
from sql_fixtures import Made


def _sql(made: Made, text: str, **kwargs: Any) -> Any:
    relation = made.con.sql(text, **kwargs)
    assert relation is not None
    return relation


def _functions_in_catalog(made: Made) -> int:
    names = "SELECT count(*) FROM duckdb_functions() WHERE starts_with(function_name, '__llm')"
    return int(made.con.raw.execute(names).fetchall()[0][0])


def _sql_reader(cursor: Connection) -> pa.RecordBatchReader:
    relation = cursor.sql("SELECT llm('x {}', id) FROM p")
    assert relation is not None
    return relation.to_arrow_reader(100)


def test_a_cursor_prefetches_views_that_another_one_made(made: Made) -> None:
    with made.con.cursor() as one, made.con.cursor() as other:
        one.execute("CREATE VIEW fresh AS SELECT llm('f {}', id) AS y FROM p")
        assert len(other.execute("FROM fresh").fetchall()) == 10000
    assert made.asked == (10000, 1)


def test_a_closed_cursor_leaves_no_functions(made: Made) -> None:
    before = _functions_in_catalog(made)
    for text in ("SELECT llm('x {}', id) FROM p", "BEGIN; SELECT llm('x {}', 1)"):
        with made.con.cursor() as cursor:
            cursor.execute(text).fetchone()
            assert _functions_in_catalog(made) == 2 * before
        assert _functions_in_catalog(made) == before


def test_dropped_cursors_leave_no_functions_once_they_are_read(made: Made) -> None:
    before = _functions_in_catalog(made)
    for _ in range(5):
        made.con.cursor().execute("SELECT llm('x {}', 1)").fetchall()
    reader = _sql_reader(made.con.cursor())
    gc.collect()
    made.con.cursor()
    assert sum(batch.num_rows for batch in reader) == 10000
    gc.collect()
    made.con.cursor()
    assert _functions_in_catalog(made) <= 3 * before
