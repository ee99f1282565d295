"""generate_series() in what a SELECT gives is rows, as PostgreSQL's clients expect."""

from __future__ import annotations

import pytest

from relserve.server.client import series
from relserve.server.client.series import with_series_as_rows
from relserve.server.users.words import Word, words
from tests.server.client.conftest import Serve, connect

ROWS = [
    ("SELECT generate_series(1, 2)", [(1,), (2,)]),
    ("SELECT 'ü' AS a, Generate_Series(1, 3, 2) + 1 AS b", [("ü", 2), ("ü", 4)]),
    ("SELECT 10 - (SELECT max(n) FROM (SELECT generate_series(1, (2 + 1)) AS n))", [(7,)]),
    ("WITH t AS (SELECT generate_series(1, 2)) SELECT generate_series FROM t", [(1,), (2,)]),
    ("SELECT generate_series(1, 2)::int4 UNION ALL SELECT generate_series(5, 5)", [(1,), (2,), (5,)]),
    ("SELECT n FROM (VALUES (1)) v(n) WHERE n IN (SELECT generate_series(0, 1))", [(1,)]),
    ("SELECT generate_series(1, 0)", []),
]
LISTS = [
    "SELECT list_sum(generate_series(1, 3)), generate_series(1, 3)[2], generate_series(1, 3).list_sum()",
    "SELECT generate_series(1, 3)::INT[] AS a, 'generate_series(1, 2)' -- generate_series(1, 2)",
    "SELECT * FROM generate_series(1, 3) WHERE generate_series > 1",
    'SELECT t.generate_series, generate_series, "x"."generate_series" FROM t',
]


@pytest.mark.cells(3)
@pytest.mark.parametrize(("text", "rows"), ROWS)
def test_a_series_is_rows(serve: Serve, text: str, rows: list[tuple[object, ...]]) -> None:
    con = connect(serve(), autocommit=True)
    assert con.execute(text).fetchall() == rows
    assert con.execute(f"SELECT count(*) FROM ({text}) WHERE %s", (True,)).fetchone() == (len(rows),)


@pytest.mark.parametrize("text", LISTS)
def test_where_a_list_is_wanted_it_is_one(text: str) -> None:
    assert with_series_as_rows(text) == text


def test_cursors_copies_and_inserts_of_a_series(serve: Serve) -> None:
    con = connect(serve())
    con.execute("CREATE TABLE t (a INTEGER)")
    assert con.execute("INSERT INTO t SELECT generate_series(1, 5)").rowcount == 5
    with con.cursor("foo") as cursor:
        cursor.itersize = 2
        assert list(cursor.execute("SELECT generate_series(1, 5)")) == [(i,) for i in range(1, 6)]
    with con.cursor().copy("COPY (SELECT generate_series(1, 3)) TO STDOUT") as copy:
        assert list(copy.rows()) == [("1",), ("2",), ("3",)]


class _Counted(list[Word]):
    """Words that count how often they are looked at; a slice counts as all that it holds."""

    num_looks = 0

    def __getitem__(self, place):  # type: ignore[no-untyped-def, override]
        found = super().__getitem__(place)
        _Counted.num_looks += len(found) if isinstance(place, slice) else 1
        return found


@pytest.mark.parametrize("count", [100, 1000])
def test_each_word_is_looked_at_a_few_times(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"SELECT {', '.join(['generate_series(1, 3)'] * count)}"
    monkeypatch.setattr(series, "words", lambda text: _Counted(words(text)))
    _Counted.num_looks = 0
    assert with_series_as_rows(text).count("unnest") == count
    assert _Counted.num_looks < 20 * count
