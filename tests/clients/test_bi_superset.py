"""The parts of benchmarks.bi_superset that need no Superset."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tests.clients.superset.asking import Answer, difference
from tests.clients.superset.questions import without_names
from tests.clients.superset.tables import into_duckdb
from tests.clients.superset.target import in_order


def test_answers_differ_by_value_by_length_and_by_being_refused() -> None:
    assert difference([1, 2], Answer([1, 2], None, 0.0)) is None
    assert difference([1, 2], Answer([1, 3], None, 0.0)) == "2 became 3"
    assert difference([1, 2], Answer([1], None, 0.0)) == "2 became 1"
    assert difference(None, Answer(None, "no", 0.0)) == "None became refused: no"


def test_rows_are_compared_in_an_order_of_their_own() -> None:
    rows = [{"a": 2, "b": None}, {"a": 1, "b": 0.1 + 0.2}]
    assert in_order(rows) == in_order(rows[::-1]) == [{"a": 1, "b": 0.3}, {"a": 2, "b": None}]


def test_names_that_nobody_gave_are_left_out() -> None:
    assert without_names({"type": "fk", "name": "made_up"}) == {"type": "fk"}
    assert without_names({"type": "index", "name": "given"}) == {"type": "index", "name": "given"}


def test_the_tables_can_be_made_of_the_shipped_examples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELSERVE_DATA", str(tmp_path))
    file = tmp_path / "bi.duckdb"
    num_reviews = into_duckdb(file)
    with duckdb.connect(file, read_only=True) as con:
        counted = con.execute(
            "SELECT count(*), count(DISTINCT written_at), count(review) FROM rated"
        ).fetchone()
        keys = con.execute("SELECT count(*) FROM duckdb_constraints() WHERE constraint_type LIKE '% KEY'")
        assert keys.fetchone() == (3,)
    assert counted is not None
    assert num_reviews == counted[0] == counted[1] > 200
    assert 0 < counted[2] < num_reviews, "some reviews are NULL"
