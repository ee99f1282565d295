"""What a client is told of its mistakes: DuckDB's words, and where the mistake is."""

from __future__ import annotations

import psycopg
import pytest

from tests.server.client.conftest import Serve, connect

PLACES = [
    ("SELECT nothere FROM reviews", "nothere", 8),
    ("SELECT id,\n  llm('x {}', nothere) FROM reviews", "nothere", 26),
    ("SELECT 1 FROM nowhere", "nowhere", 15),
    ("SELECT nofunction(id) FROM reviews", "nofunction", 8),
    ("SELECT relname, nothere FROM pg_catalog.pg_class", "nothere", None),  # runs as another text
]


@pytest.mark.cells(2)
@pytest.mark.parametrize(("sql", "word", "place"), PLACES)
def test_a_mistake_is_told_with_its_place(serve: Serve, sql: str, word: str, place: int | None) -> None:
    with pytest.raises(psycopg.Error, match=word) as refused:
        connect(serve(examples=True), autocommit=True).execute(sql)
    told = refused.value.diag.statement_position
    assert told == (None if place is None else str(place))


def test_copy_tells_why_a_table_does_not_take_the_rows(serve: Serve) -> None:
    con = connect(serve(), autocommit=True)
    con.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    for _ in range(2):  # the second time nothing of the first is left
        with (
            pytest.raises(psycopg.errors.UniqueViolation, match="duplicate key"),
            con.cursor().copy("COPY t FROM STDIN") as copy,
        ):
            copy.write("1\n1\n")
    with con.cursor().copy("COPY t FROM STDIN") as copy:
        copy.write("1\n2\n")
    assert con.execute("SELECT count(*) FROM t").fetchone() == (2,)


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    ("call", "told"),
    [
        ("llm_dedup('t', body, similarity := 'two')", "similarity must be a number such as 0.95, not two"),
        (
            "llm_topics('t', body, about := 'short')",
            "about must be a template such as 'Sum up: {}', not short",
        ),
        ("llm_topics('t', body, k := 0)", "k must be a whole number of 1 or more, not 0"),
    ],
)
def test_a_wrong_argument_of_a_table_macro_is_told_in_our_words(serve: Serve, call: str, told: str) -> None:
    con = connect(serve(), autocommit=True)
    con.execute("CREATE OR REPLACE TABLE t AS SELECT 'a parcel' AS body")
    with pytest.raises(psycopg.Error) as refused:
        con.execute(f"FROM {call}")
    assert str(refused.value).startswith(call.partition("(")[0])
    assert told in str(refused.value)
