"""An answer is right where it gives the gold query's rows on every database, and rows there are."""

from collections.abc import Iterator

import duckdb
import pytest

from training.tiny_sql.evaluate import is_right


@pytest.fixture
def databases() -> Iterator[list[duckdb.DuckDBPyConnection]]:
    made = []
    for rows in (
        "(1, 'a', 2.5), (2, 'b', 4.0), (3, 'a', 1.0)",
        "(1, 'b', 2.0), (2, 'b', 3.0), (3, 'c', 9.0)",
    ):
        con = duckdb.connect()
        con.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {rows}) AS v(id, kind, price)")
        made.append(con)
    yield made
    for con in made:
        con.close()


@pytest.mark.parametrize(
    ("sql", "gold", "right"),
    [
        ("SELECT price, id FROM t", "SELECT id, price FROM t ORDER BY id DESC LIMIT 3", False),
        ("SELECT id, price FROM t ORDER BY id DESC", "SELECT price, id FROM t", True),
        ("SELECT id FROM t WHERE price > 3", "SELECT id FROM t WHERE price >= 2.5", False),
        ("SELECT count(*)::DOUBLE FROM t", "SELECT count(*) FROM t", True),
        ("SELECT id FROM t WHERE kind = 'z'", "SELECT id FROM t WHERE kind = 'y'", False),
        ("SELECT id FROM t WHERE id < 2", "SELECT id FROM t WHERE kind = 'a' ORDER BY id LIMIT 1", False),
        ("SELECT nothing FROM t", "SELECT id FROM t", False),
    ],
)
def test_right_and_wrong(
    sql: str, gold: str, right: bool, databases: list[duckdb.DuckDBPyConnection]
) -> None:
    assert is_right(sql, gold, databases) is right
