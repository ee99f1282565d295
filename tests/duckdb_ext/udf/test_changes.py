"""`Changes`: a cursor learns that another one has changed data; reads and its own changes are nothing."""

from __future__ import annotations

import pytest
from relserve_duckdb.udf.connection_state import Changes

READS = ("SELECT 1", " from t ;", "-- why\nSELECT 1", "/* a */ EXPLAIN SELECT 1", "SHOW TABLES", "VALUES (1)")
WRITES = ("", "DELETE FROM t", "SELECT 1; DROP TABLE t", "WITH a AS (FROM t) INSERT INTO b FROM a", "COMMIT")


@pytest.mark.parametrize("text", READS)
def test_reads_are_no_change(text: str) -> None:
    changes = Changes()
    with changes.by(1, text):
        assert changes.of_others(2) == 0
    assert changes.of_others(2) == 0


@pytest.mark.parametrize("text", WRITES)
def test_others_see_a_change_and_that_it_is_under_way(text: str) -> None:
    changes = Changes()
    with changes.by(1, text):
        assert changes.of_others(2) is None
        assert changes.of_others(1) == 0
    assert changes.of_others(2) == 1
    assert changes.of_others(1) == 0


def test_a_change_that_fails_counts() -> None:
    changes = Changes()
    with pytest.raises(ValueError, match="no"), changes.by(1, "DELETE"):
        raise ValueError("no")
    assert changes.of_others(2) == 1
