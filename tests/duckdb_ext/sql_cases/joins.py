"""Calls in and around joins of every kind."""

from __future__ import annotations

from sql_cases.case import Case, one

CASES = [
    Case("SELECT t.id, label FROM t JOIN w ON t.id = w.id AND llm_filter('{} {}', name, label)", 3,
         rows=[(2, "mid 2"), (2, "mid 4")]),
    Case("SELECT t.id, label FROM t JOIN w USING (id) WHERE llm_filter('{}', label)", 3,
         rows=[(2, "mid 2"), (2, "mid 4")]),
    Case("SELECT t.id, label FROM t LEFT JOIN w ON t.id = w.id AND llm_filter('{}', label)", 4,
         rows=[(1, None), (2, "mid 2"), (2, "mid 4"), (3, None), (4, None), (5, None)]),
    Case("SELECT t.id, label FROM t LEFT JOIN w ON t.id = w.id AND llm_filter('{}', name)", 2,
         rows=[(1, None), (2, "mid 2"), (2, "mid 4"), (3, None), (4, None), (5, None)]),
    Case("SELECT t.id, llm('{}', label) FROM t RIGHT JOIN w ON t.id = w.id", 4,
         rows=[(1, "low 1"), (2, "mid 2"), (2, "mid 4"), (None, "far 9")]),
    Case("SELECT llm('{}', name), llm('{}', label) FROM t FULL JOIN w USING (id)", 7,
         rows=[("one 1", "low 1"), ("two 2", "mid 2"), ("two 2", "mid 4"), ("three 3", None), (None, None),
               ("two 2", None), (None, "far 9")]),
    Case("SELECT id FROM t SEMI JOIN w USING (id) WHERE llm_filter('{}', name)", 2, rows=one(2)),
    Case("SELECT llm('{}', name) FROM t ANTI JOIN w USING (id)", 2, rows=one("three 3", None, "two 2")),
    Case("SELECT t.id, llm('{}', label) FROM t ASOF JOIN (FROM w WHERE label <> 'mid 4') w ON t.id >= w.id",
         2,
         rows=[(1, "low 1"), (2, "mid 2"), (3, "mid 2"), (4, "mid 2"), (5, "mid 2")]),
    Case("SELECT llm('{}+{}', t.id, label) FROM t POSITIONAL JOIN w", 4,
         rows=one("1+low 1", "2+mid 2", "3+mid 4", "4+far 9", None)),
    Case("SELECT count(llm('{}{}', a.id, b.id)) FROM t a, t b", 25, rows=one(25)),
    Case("SELECT llm('{}', label) FROM t NATURAL JOIN w", 3, rows=one("low 1", "mid 2", "mid 4")),
    Case("SELECT a.id, b.id FROM t a JOIN t b ON llm('{}', a.name) = llm('{}', b.name) AND a.id < b.id", 3,
         rows=[(2, 5)]),
    Case("SELECT a.id, b.id FROM t a CROSS JOIN t b "
         "WHERE llm_filter('{} {}', a.name, b.id) AND a.id + b.id = 5",
         3, rows=[(1, 4), (3, 2)]),
    Case("SELECT t.id, l.y FROM t, LATERAL (SELECT llm('{}!', t.id) AS y) l WHERE t.id < 3", 2,
         rows=[(1, "1!"), (2, "2!")]),
    Case("FROM range(3) r(i), LATERAL (SELECT llm('{}', i + 1) AS j) SELECT j", 3, rows=one("1", "2", "3")),
    Case("SELECT t.id, l.label FROM t LEFT JOIN LATERAL (FROM w WHERE w.id = t.id "
         "AND llm_filter('{}', label)) l "
         "ON true WHERE t.id < 3", 4, rows=[(1, None), (2, "mid 2"), (2, "mid 4")]),
    Case("SELECT id, llm('{}', e) FROM t, unnest([id, x]) u(e) WHERE id = 1", 2, rows=[(1, "1"), (1, "10")]),
]  # fmt: skip
