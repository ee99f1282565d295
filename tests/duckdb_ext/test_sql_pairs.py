"""Joins by llm_filter over pairs of rows: one relQuery, each distinct pair once."""

from __future__ import annotations

import pytest
from sql_fixtures import make

TABLES = """
CREATE TABLE wish AS SELECT i AS id, 'wish ' || (i % 10) AS want FROM range(30) t(i);
CREATE TABLE shelf AS SELECT i AS id, 'thing ' || (i % 7) AS offer, i % 2 AS stock FROM range(14) t(i);
"""
ASK = "llm_filter('Does {} answer {}?', offer, want)"
JOINS = [
    (f"SELECT w.id, s.id FROM wish w JOIN shelf s ON {ASK}", 70),
    (f"SELECT w.id, s.id FROM wish w, shelf s WHERE {ASK}", 70),
    (f"SELECT w.id, s.id FROM wish w JOIN shelf s ON w.id % 2 = s.stock AND {ASK}", 70),
    (f"SELECT w.id, s.id FROM wish w JOIN shelf s ON {ASK} WHERE stock = 1 AND s.id < 7", 30),
    (f"SELECT w.id, s.id FROM wish w LEFT JOIN shelf s ON w.id = s.id AND {ASK}", 14),
    (f"SELECT w.id FROM wish w WHERE EXISTS (SELECT 1 FROM shelf s WHERE w.id = s.id AND {ASK})", 14),
    (f"SELECT w.id, count(s.id) FROM wish w JOIN shelf s ON {ASK} GROUP BY w.id", 70),
]


@pytest.mark.cells(2)
@pytest.mark.parametrize(("sql", "num_pairs"), JOINS, ids=[sql for sql, _ in JOINS])
def test_a_join_by_llm_filter_asks_each_distinct_pair_once(sql: str, num_pairs: int) -> None:
    results = []
    for prefetch in (False, True):
        made = make(prefetch, tables=False)
        made.con.execute(TABLES)
        results.append(sorted(made.rows(sql), key=str))
    assert results[0] == results[1]
    assert results[1]
    assert made.asked == (num_pairs, 1)


def test_pairs_with_null_are_not_asked() -> None:
    made = make(tables=False)
    made.con.execute(TABLES)
    made.con.execute("UPDATE shelf SET offer = NULL WHERE id % 7 > 2")
    made.rows(f"SELECT count(*) FROM wish, shelf WHERE {ASK}")
    assert made.asked == (30, 1)
