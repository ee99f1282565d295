"""Methods that DuckDB's connection had before 2.0, which ibis calls."""

from __future__ import annotations

import pytest
from sql_fixtures import Made

pytestmark = pytest.mark.filterwarnings("ignore:Arrow output on a DB-API result")
ASKS = "SELECT llm('d {}', id) AS a FROM p ORDER BY id LIMIT 3"
ROWS = [{"a": f"d {i}"} for i in range(3)]


def test_rows_come_as_arrow_under_the_earlier_names(made: Made) -> None:
    assert made.con.execute(ASKS).fetch_arrow_table().to_pylist() == ROWS
    reader = made.con.execute(ASKS).fetch_record_batch(rows_per_batch=2)
    assert reader.read_all().to_pylist() == ROWS
