"""Calls in subqueries, CTEs and set operations."""

from __future__ import annotations

from sql_cases.case import Case, one

CASES = [
    # scalar, EXISTS, IN, ANY, ALL
    Case("SELECT (SELECT llm('{}', 7))", 1, rows=one("7")),
    Case("SELECT id, (SELECT max(llm('{}', label)) FROM w WHERE w.id = t.id) FROM t WHERE id < 4", 3,
         rows=[(1, "low 1"), (2, "mid 4"), (3, None)]),
    Case("SELECT llm('{} of {}', id, (SELECT count(*) FROM w)) FROM t WHERE id < 3", 2,
         rows=one("1 of 4", "2 of 4")),
    Case("SELECT id FROM t WHERE EXISTS (FROM w WHERE w.id = t.id AND llm_filter('{}', label))",
         4, rows=one(2)),
    Case("SELECT id FROM t WHERE NOT EXISTS (FROM w WHERE w.id = t.id AND llm_filter('{}', label))", 4,
         rows=one(1, 3, 4, 5)),
    Case("SELECT EXISTS (FROM t WHERE llm_filter('{}', id))", 5, rows=one(True)),
    Case("SELECT id FROM t WHERE id IN (SELECT id FROM w WHERE llm_filter('{}', label))", 4, rows=one(2)),
    Case("SELECT id FROM t WHERE id NOT IN (SELECT id FROM w WHERE llm_filter('{}', label))", 4,
         rows=one(1, 3, 4, 5)),
    Case("SELECT id FROM t WHERE llm('{}', id) IN (SELECT llm('{}', id) FROM w)", 6, rows=one(1, 2)),
    Case("SELECT id FROM t WHERE id > ALL (SELECT llm_score('{}', label) FROM w WHERE id < 9)",
         3, rows=one(5)),
    Case("SELECT id FROM t WHERE id = ANY (SELECT llm_score('{}', label)::INT FROM w WHERE id < 9)", 3,
         rows=one(1, 2, 4)),
    Case("SELECT ARRAY(SELECT llm('{}', id) FROM t WHERE id < 3 ORDER BY id)", 2, rows=one(["1", "2"])),
    Case("SELECT n FROM (SELECT llm('{}', name) AS n, id FROM t) WHERE id = 1", 1, rows=one("one 1")),
    Case("SELECT * FROM (FROM t WHERE g = 'a') WHERE llm_filter('{}', id)", 2, rows=[(2, "a", "two 2", 20)]),
    Case("SELECT count(*) FROM (SELECT llm('{}', name) FROM t)", 0, 0, rows=one(5)),
    # CTEs
    Case("WITH c AS (SELECT id, llm('<{}>', name) AS n FROM t) SELECT n FROM c WHERE id = 1", 1,
         rows=one("<one 1>")),
    Case("WITH c AS MATERIALIZED (SELECT id, llm('<{}>', name) AS n FROM t) SELECT n FROM c WHERE id = 1", 1,
         rows=one("<one 1>")),
    Case("WITH c AS NOT MATERIALIZED (SELECT id, llm('{}', name) AS n FROM t) SELECT n FROM c WHERE id = 3",
         1,
         rows=one("three 3")),
    Case("WITH c AS (SELECT id, llm('{}', id) AS n FROM t), "
         "d AS (SELECT llm('<{}>', n) AS m FROM c WHERE id < 3) "
         "SELECT m FROM d", 4, 2, rows=one("<1>", "<2>")),
    Case("WITH c(n) AS (VALUES ('p'), ('q')) SELECT llm('{}', n) FROM c", 2, rows=one("p", "q")),
    Case("WITH RECURSIVE r(n, s) AS (SELECT 1, 'x' "
         "UNION ALL SELECT n + 1, llm('{}{}', s, n) FROM r WHERE n < 4) "
         "SELECT s FROM r", 3, -1, rows=one("x", "x1", "x12", "x123")),
    Case("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 4) "
         "SELECT llm('{}', n) FROM r", 4, rows=one("1", "2", "3", "4")),
    # set operations
    Case("SELECT llm('{}', name) FROM t UNION SELECT llm('{}', label) FROM w", 7,
         rows=one("one 1", "two 2", "three 3", None, "low 1", "mid 2", "mid 4", "far 9")),
    Case("SELECT llm('{}', id) FROM t WHERE id < 3 UNION ALL SELECT llm('{}', id) FROM w WHERE id < 3", 2,
         rows=one("1", "2", "1", "2", "2")),
    Case("SELECT llm('{}', id) AS a FROM t WHERE id = 1 UNION ALL BY NAME "
         "SELECT llm('{}', id) AS b FROM t WHERE id = 2", 2, rows=[("1", None), (None, "2")]),
    Case("SELECT llm('{}', id) FROM t EXCEPT SELECT llm('{}', id) FROM w", 6, rows=one("3", "4", "5")),
    Case("SELECT llm('{}', id) FROM t INTERSECT SELECT llm('{}', id) FROM w", 6, rows=one("1", "2")),
    Case("(SELECT llm('{}', id) AS a FROM t LIMIT 1) "
         "UNION ALL (SELECT llm('{}', x) FROM t LIMIT 1) ORDER BY a",
         2,
         rows=one("1", "10"), ordered=True),
]  # fmt: skip
