"""Calls over what a FROM can name: values, series, files, pivots, views, macros, variables."""

from __future__ import annotations

from sql_cases.case import Case, one

PIVOTED = [("a", 1, 1), ("b", 1, 1), (None, 0, 1)]

CASES = [
    Case("VALUES (llm('v {}', 1))", 1, rows=one("v 1")),
    Case("FROM (VALUES (llm('{}', 1)), (llm('{}', 2))) v(a)", 2, -1, rows=one("1", "2")),
    Case("SELECT llm('{}', i) FROM generate_series(1, 3) s(i)", 3, rows=one("1", "2", "3")),
    Case("SELECT llm('{}', d::DATE) FROM range(DATE '2024-02-28', DATE '2024-03-02', INTERVAL 1 DAY) r(d)", 3,
         rows=one("2024-02-28", "2024-02-29", "2024-03-01")),
    Case("SELECT llm('{}', e) FROM unnest(['p', 'q', NULL]) u(e)", 2, rows=one("p", "q", None)),
    Case("SELECT llm('{} {}', a, b) FROM (SELECT unnest({'a': 1, 'b': 2}))", 1, rows=one("1 2")),
    Case("FROM t", 0, 0, rows=[(1, "a", "one 1", 10), (2, "a", "two 2", 20), (3, "b", "three 3", 30),
                               (4, "b", None, 40), (5, None, "two 2", 50)]),
    # an empty table, a table of NULLs
    Case("SELECT llm('{}', id), llm_filter('{}', name) FROM t WHERE id > 99", 0, 0, rows=[]),
    Case("SELECT count(llm('{}', id)), max(llm_score('{}', id)) FROM t WHERE id > 99",
         0, 0, rows=[(0, None)]),
    Case("SELECT llm('{}', NULL::VARCHAR), llm_score('{}', name) FROM t WHERE id = 4", 0, 0,
         rows=[(None, None)]),
    # pivots and summaries
    Case("PIVOT (SELECT g, llm_classify('{}', id, choices := ['x', 'y']) AS k FROM t) ON k USING count(*)",
         5, -1,
         rows=PIVOTED),
    Case("FROM (SELECT g, llm_classify('{}', id, choices := ['x', 'y']) AS k FROM t) "
         "PIVOT (count(*) FOR k IN ('x', 'y') GROUP BY g)", 5, rows=PIVOTED),
    Case("UNPIVOT (SELECT llm('{}', id) AS a, llm('<{}>', id) AS b FROM t WHERE id = 1) ON a, b", 2, 2,
         rows=[("a", "1"), ("b", "<1>")]),
    Case("SELECT llm('{}={}', name, value) FROM (UNPIVOT (SELECT id, x FROM t WHERE id = 1) ON id, x)", 2,
         rows=one("id=1", "x=10")),
    Case("SELECT column_name, min, max FROM (SUMMARIZE SELECT llm('{}', name) AS n FROM t)", 3,
         rows=[("n", "one 1", "two 2")]),
    Case("SELECT column_name, column_type FROM (DESCRIBE SELECT llm_score('{}', id) AS s FROM t)", 0, 0,
         rows=[("s", "DOUBLE")]),
    Case("DESCRIBE SELECT llm_filter('{}', id) AS f FROM t", 0, 0,
         rows=[("f", "BOOLEAN", "YES", None, None, None)]),
    # files
    Case("SELECT id, llm('<{}>', name) FROM 'small.csv'", 2, rows=[(1, "<one 1>"), (2, "<two 2>")]),
    Case("FROM read_csv('small.csv', header = true) s SELECT llm('{name}', s)", 2,
         rows=one("one 1", "two 2")),
    Case("SELECT llm('{}', name) FROM read_parquet('small.parquet') WHERE id = 2", 1, rows=one("two 2")),
    Case("SELECT llm('{}', name) FROM 'small.json' WHERE llm_filter('{}', id)", 3, 2, rows=one("two 2")),
    # views, macros, variables, queries as text
    Case("CREATE OR REPLACE VIEW seen AS SELECT id, llm('<{}>', name) AS n FROM t; "
         "SELECT n FROM seen WHERE id = 1", 1, rows=one("<one 1>")),
    Case("CREATE OR REPLACE VIEW seen AS SELECT id FROM t WHERE llm_filter('{}', name); "
         "SELECT llm('{}', id) FROM seen", 5, 2, rows=one("2", "5")),
    Case("CREATE OR REPLACE TEMP MACRO shout(v) AS upper(llm('{}', v)); "
         "SELECT shout(name) FROM t WHERE id = 1",
         1,
         rows=one("ONE 1")),
    Case("CREATE OR REPLACE TEMP MACRO asked(k) AS TABLE SELECT llm('{}', name) AS n FROM t WHERE id = k; "
         "FROM asked(2)", 1, rows=one("two 2")),
    Case("SET VARIABLE v = 2; SELECT llm('{}', name) FROM t WHERE id = getvariable('v')",
         1, rows=one("two 2")),
    Case("SET VARIABLE v = llm('{}', 5); SELECT getvariable('v')", 1, rows=one("5")),
    Case("FROM query('SELECT llm(''{}'', id) AS a FROM t WHERE id = 1')", 1, rows=one("1")),
    Case("FROM query_table('t') SELECT llm('{}', id) WHERE id = 1", 1, rows=one("1")),
]  # fmt: skip
