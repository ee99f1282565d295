"""Which texts may make a view, a macro or a prepared statement."""

from __future__ import annotations

import duckdb
import pytest
from relserve_duckdb.text.indirect_calls import IndirectCalls


@pytest.mark.parametrize(
    ("text", "is_changed"),
    [
        ("SELECT 1; /* then */ ATTACH ':memory:' AS other", True),
        ("SELECT 1; SELECT 'see below; please attach it'", False),  # words of data
        ("INSERT INTO t VALUES ('a; prepare b')", False),
        ("SELECT 1; CREATE VIEW v AS nonsense here", True),  # DuckDB says what is wrong
    ],
)
def test_words_of_data_are_no_statements_that_make_a_view(text: str, is_changed: bool) -> None:
    with duckdb.connect() as con:
        assert IndirectCalls(con, is_new=True).is_changed_by(con, text) is is_changed
