"""Calls in WHERE, GROUP BY, HAVING, ORDER BY, QUALIFY, windows, DISTINCT, LIMIT and SAMPLE."""

from __future__ import annotations

from sql_cases.case import Case, one

CASES = [
    # WHERE
    Case("SELECT id FROM t WHERE llm_filter('{}?', name)", 3, rows=one(2, 5)),
    Case("SELECT id FROM t WHERE NOT llm_filter('{}?', name)", 3, rows=one(1, 3)),
    Case("SELECT id FROM t WHERE llm_filter('{}?', name) IS NULL", 3, rows=one(4)),
    Case("SELECT id FROM t WHERE llm_filter('{}?', name) IS NOT DISTINCT FROM false", 3, rows=one(1, 3)),
    Case("SELECT id FROM t WHERE llm_filter('{}?', name) AND x > 20", 2, rows=one(5)),
    Case("SELECT id FROM t WHERE x > 20 OR llm_filter('{}?', name)", 2, rows=one(2, 3, 4, 5)),
    Case("SELECT id FROM t WHERE llm_classify('{}', name, choices := ['x', 'y']) = 'x'", 3, rows=one(2, 5)),
    Case("SELECT id FROM t WHERE llm_score('{}', name) >= 2", 3, rows=one(2, 3, 5)),
    Case("SELECT id FROM t WHERE llm_score('{}', name) BETWEEN 2 AND 3 AND g = 'b'", 1, rows=one(3)),
    Case("SELECT id FROM t WHERE llm_filter('p {}', id) AND llm_filter('q {}', x + id)",
         7, 2, rows=one(2, 4)),
    Case("SELECT id FROM t WHERE llm_filter('{}', g || id) = (id > 1)", 4, rows=one(1, 2, 4)),
    Case("SELECT id FROM t WHERE llm('{}', g) = ANY(['a', 'z'])", 2, rows=one(1, 2)),
    Case("SELECT id FROM t WHERE llm('{}', g) IN ['a', 'z']", 2, rows=one(1, 2)),
    Case("SELECT llm('{}', id) FROM t WHERE id IN [1, 2] AND id = ANY([2, 3])", 1, rows=one("2")),
    Case("SELECT id FROM t WHERE CASE WHEN g = 'a' THEN llm_filter('{}', id) ELSE false END", 2, rows=one(2)),
    Case("SELECT id FROM t WHERE false AND llm_filter('{}', id)", 0, 0, rows=[]),
    # groups
    Case("SELECT g, count(*) FROM t WHERE llm_filter('{}', id) GROUP BY g", 5, rows=[("a", 1), ("b", 1)]),
    Case("SELECT llm_filter('{}', name) AS f, count(*) FROM t GROUP BY f", 3,
         rows=[(False, 2), (True, 2), (None, 1)]),
    Case("SELECT llm_score('{}', name) AS s, count(*) FROM t GROUP BY ALL ORDER BY ALL", 3,
         rows=[(1.0, 1), (2.0, 2), (3.0, 1), (None, 1)], ordered=True),
    Case("SELECT count(*) FROM t GROUP BY llm_filter('{}', name)", 3, rows=one(2, 2, 1)),
    Case("SELECT g FROM t GROUP BY g HAVING llm_filter('{}', max(id))", 3, rows=one("a", "b")),
    Case("SELECT llm_filter('{}', id) AS f FROM t GROUP BY f HAVING count(*) > 2", 5, rows=one(False)),
    Case("SELECT g, llm('{}', string_agg(name, ',' ORDER BY id)) FROM t GROUP BY g", 3,
         rows=[("a", "one 1,two 2"), ("b", "three 3"), (None, "two 2")]),
    Case("SELECT max(llm('{}', name)), min(llm('{}', name)) FROM t", 3, rows=[("two 2", "one 1")]),
    Case("SELECT count(*) FILTER (WHERE llm_filter('{}', name)) FROM t", 3, rows=one(2)),
    Case("SELECT list(llm('{}', id) ORDER BY id DESC) FROM t", 5, rows=one(["5", "4", "3", "2", "1"])),
    Case("SELECT arg_max(id, llm_score('{}', name)) FROM t", 3, rows=one(3)),
    Case("SELECT histogram(llm('{}', g)) FROM t", 2, rows=one({"a": 2, "b": 2})),
    Case("SELECT mode(llm('{}', name)) FROM t", 3, rows=one("two 2")),
    Case("SELECT quantile_cont(llm_score('{}', id), 0.5) FROM t", 5, rows=one(3.0)),
    Case("SELECT count(DISTINCT llm('{}', name)) FROM t", 3, rows=one(3)),
    Case("SELECT g, grouping(g), count(llm('{}', name)) FROM t WHERE g IS NOT NULL GROUP BY ROLLUP (g)", 3,
         rows=[("a", 0, 2), ("b", 0, 1), (None, 1, 3)]),
    Case("SELECT f, g, count(*) FROM (SELECT llm_filter('{}', id) AS f, g FROM t) "
         "GROUP BY GROUPING SETS ((f), (g))", 5,
         rows=[(False, None, 3), (True, None, 2), (None, "a", 2), (None, "b", 2), (None, None, 1)]),
    Case("SELECT f, count(*) FROM (SELECT llm_filter('{}', id) AS f FROM t) GROUP BY CUBE (f)", 5,
         rows=[(False, 3), (True, 2), (None, 5)]),
    # order, limit, sample
    Case("SELECT id FROM t ORDER BY llm_score('{}', name) DESC NULLS LAST, id", 3,
         rows=one(3, 2, 5, 1, 4), ordered=True),
    Case("SELECT id FROM t ORDER BY llm_score('{}', x - id) LIMIT 2", 5, rows=one(5, 4), ordered=True),
    Case("SELECT id FROM t ORDER BY llm('{}', id) DESC LIMIT 2 OFFSET 1", 5, rows=one(4, 3), ordered=True),
    Case("SELECT llm('{}', id) FROM t ORDER BY id LIMIT 2", 2, rows=one("1", "2"), ordered=True),
    Case("SELECT llm('{}', id) AS a FROM t ORDER BY #1 DESC", 5, rows=one("5", "4", "3", "2", "1"),
         ordered=True),
    Case("SELECT llm('{}', id) FROM t LIMIT 2", 2, rows=one("1", "2")),
    Case("SELECT llm('{}', id) FROM t ORDER BY id LIMIT 40%", 2, rows=one("1", "2")),
    Case("SELECT count(llm('{}', id)) FROM t USING SAMPLE 5 ROWS", 5, rows=one(5)),
    Case("SELECT count(llm('{}', id)) FROM t TABLESAMPLE reservoir(5 ROWS)", 5, rows=one(5)),
    # distinct
    Case("SELECT DISTINCT llm_filter('{}', name) FROM t", 3, rows=one(False, True, None)),
    Case("SELECT DISTINCT ON (g) g, llm('{}', id) FROM t ORDER BY g, id", 3,
         rows=[("a", "1"), ("b", "3"), (None, "5")], ordered=True),
    Case("SELECT DISTINCT ON (llm_filter('{}', id)) id FROM t ORDER BY id", 5, rows=one(1, 2)),
    # windows
    Case("SELECT id, sum(llm_score('{}', id)) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) "
         "FROM t", 5, rows=[(1, 1.0), (2, 3.0), (3, 5.0), (4, 7.0), (5, 9.0)]),
    Case("SELECT id, sum(llm_score('{}', id)) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING "
         "EXCLUDE CURRENT ROW) FROM t", 5, rows=[(1, 2.0), (2, 4.0), (3, 6.0), (4, 8.0), (5, 4.0)]),
    Case("SELECT id, lag(llm('{}', id)) OVER (ORDER BY id) FROM t WHERE id < 4", 3,
         rows=[(1, None), (2, "1"), (3, "2")]),
    Case("SELECT id, rank() OVER r FROM t WINDOW r AS (PARTITION BY llm_filter('{}', id) ORDER BY id)", 5,
         rows=[(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)]),
    Case("SELECT llm('{}', row_number() OVER (ORDER BY id)) FROM t", 5, rows=one("1", "2", "3", "4", "5")),
    Case("SELECT id FROM t QUALIFY row_number() OVER (PARTITION BY llm_filter('{}', id) ORDER BY id) = 1", 5,
         rows=one(1, 2)),
    Case("SELECT id FROM t QUALIFY row_number() OVER (ORDER BY id) < 4 AND llm_filter('{}', id)", 3,
         rows=one(2)),
]  # fmt: skip
