"""Which texts may make a view, a macro or a prepared statement, and what is known of these."""

from __future__ import annotations

import duckdb
import pytest
from relserve_duckdb.text.index_calls import indexes_calls
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


@pytest.mark.parametrize(
    ("text", "reader"),
    [
        ("PREPARE 'it''s' AS SELECT llm(1)", 'EXECUTE "it\'s"'),
        ("PREPARE'p'AS SELECT llm(1)", "EXECUTE p"),
        ("PREPARE $x$p$x$ AS SELECT llm(1)", "EXECUTE p"),
        ("/* a */ prepare -- b\n p/* c */AS SELECT llm(1)", "EXECUTE p"),
        ("EXPLAIN ANALYZE PREPARE p AS SELECT llm(1)", "EXECUTE p"),
        ("EXPLAIN (ANALYZE) PREPARE p AS SELECT llm(1)", "EXECUTE p"),
        ("EXPLAIN/**/(FORMAT JSON, ANALYZE)/**/CREATE VIEW v AS SELECT llm(1)", "FROM v"),
        ("EXPLAIN ANALYZE CREATE VIEW v AS SELECT llm(1)", "FROM v"),  # whose text DuckDB does not tell
        ("CREATE/**/OR -- a\n REPLACE/**/VIEW v AS SELECT llm(1)", "FROM v"),
        ("CREATE VIEW u AS SELECT llm(1); ALTER/**/VIEW u RENAME TO v", "FROM v"),
    ],
)
def test_a_name_is_known_however_it_is_written(text: str, reader: str) -> None:
    with duckdb.connect() as con:
        con.execute("CREATE MACRO llm(x) AS x")
        calls = IndirectCalls(con, is_new=True)
        assert calls.is_changed_by(con, text)
        for each in con.extract_statements(text):
            con.execute(each).fetchall()
            calls.learn(con, each.query)
        assert con.execute(reader).fetchall() == [(1,)]
        assert calls.mentions(reader)


def test_a_prepared_statement_calls_as_soon_as_its_view_does() -> None:
    with duckdb.connect() as con, con.cursor() as other:
        calls = IndirectCalls(con, is_new=True)
        for text in ("PREPARE p AS FROM v", "PREPARE q AS SELECT 1", "PREPARE r AS SELECT llm(1)"):
            calls.learn(con, text)
        calls.learn(other, "PREPARE r AS SELECT 1")
        calls.learn(other, "DEALLOCATE r")
        assert [calls.mentions(f"EXECUTE {name}") for name in "pqr"] == [False, False, True]
        con.execute("CREATE MACRO llm(x) AS x; CREATE VIEW v AS SELECT llm(1)")
        calls.learn(other, "CREATE VIEW v AS SELECT llm(1)")
        assert [calls.mentions(f"EXECUTE {name}") for name in "pqr"] == [True, False, True]
        calls.learn(con, "DEALLOCATE r")
        assert [calls.mentions(f"EXECUTE {name}") for name in "pqr"] == [True, False, False]


def test_an_index_over_a_macro_of_one_connection_alone_is_seen_beside_those_that_others_make() -> None:
    with duckdb.connect() as con, con.cursor() as other:
        con.execute("CREATE MACRO llm(x) AS x")
        calls = IndirectCalls(con, is_new=True)
        for each, text in ((con, "CREATE TEMP MACRO rate(x) AS llm(x)"), (other, "CREATE MACRO m(x) AS x")):
            each.execute(text)
            calls.learn(each, text)
        index = "CREATE/* a */INDEX i ON t (rate(x))"
        assert indexes_calls(index, lambda: calls.calling_macros(con))
        assert not indexes_calls(index, lambda: calls.calling_macros(other))
