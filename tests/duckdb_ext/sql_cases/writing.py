"""Statements that write, prepared ones, parameters, and several statements in one text.

Rows are those of the statement (for most the number of rows changed), then those of the query that shows
them.
"""

from __future__ import annotations

from sql_cases.case import Case, one

CASES = [
    # CREATE TABLE
    Case("CREATE OR REPLACE TABLE made AS SELECT id, llm('<{}>', name) AS n FROM t WHERE id < 3", 2,
         shows="FROM made", rows=[(2,), (1, "<one 1>"), (2, "<two 2>")]),
    Case("CREATE OR REPLACE TEMP TABLE passed AS FROM t WHERE llm_filter('{}', name)", 3,
         shows="SELECT id FROM passed", rows=one(2, 2, 5)),
    Case("CREATE OR REPLACE VIEW seen AS SELECT llm('{}', name) AS n FROM t", 0, 0, rows=[]),
    # INSERT
    Case("INSERT INTO w SELECT id, llm('new {}', id) FROM t WHERE id > 3",
         2, shows="FROM w WHERE id IN (4, 5)",
         rows=[(2,), (4, "new 4"), (5, "new 5")]),
    Case("INSERT INTO w VALUES (7, llm('v {}', 7)), (8, llm('v {}', 8))", 2, -1, "FROM w WHERE id IN (7, 8)",
         [(2,), (7, "v 7"), (8, "v 8")]),
    Case("INSERT INTO w BY NAME SELECT llm('n {}', id) AS label, id FROM t WHERE id = 5", 1,
         shows="FROM w WHERE id = 5", rows=[(1,), (5, "n 5")]),
    Case("INSERT INTO w (label) SELECT llm('n {}', id) FROM t WHERE id = 5",
         1, shows="FROM w WHERE id IS NULL",
         rows=[(1,), (None, "n 5")]),
    Case("WITH c AS (FROM t WHERE id = 5) INSERT INTO w SELECT id, llm('c {}', id) FROM c", 1,
         shows="FROM w WHERE id = 5", rows=[(1,), (5, "c 5")]),
    Case("INSERT INTO keyed SELECT id, llm('{}', name) FROM t WHERE id < 3 "
         "ON CONFLICT DO UPDATE SET v = excluded.v", 2, shows="FROM keyed",
         rows=[(2,), (1, "one 1"), (2, "two 2")]),
    Case("INSERT INTO keyed SELECT id, llm('{}', name) FROM t WHERE id < 3 ON CONFLICT DO NOTHING", 2,
         shows="FROM keyed", rows=[(1,), (1, "old"), (2, "two 2")]),
    Case("INSERT OR REPLACE INTO keyed SELECT id, llm('{}', name) FROM t WHERE id = 1", 1, shows="FROM keyed",
         rows=[(1,), (1, "one 1")]),
    Case("INSERT INTO keyed VALUES (1, 'x') ON CONFLICT DO UPDATE SET v = llm('{}+{}', v, excluded.v)", 1,
         shows="FROM keyed", rows=[(1,), (1, "old+x")]),
    Case("INSERT INTO w VALUES (7, 'x 7') RETURNING llm('<{}>', label)", 1, rows=one("<x 7>")),
    # UPDATE, DELETE, MERGE
    Case("UPDATE t SET name = llm('<{}>', name) WHERE id < 3", 2, shows="SELECT name FROM t WHERE id < 3",
         rows=one(2, "<one 1>", "<two 2>")),
    Case("UPDATE t SET name = llm('{}/{}', t.name, label) FROM w WHERE w.id = t.id AND t.id = 1", 1,
         shows="SELECT name FROM t WHERE id = 1", rows=one(1, "one 1/low 1")),
    Case("UPDATE t SET x = (SELECT max(llm_score('{}', label)) FROM w WHERE w.id = t.id) WHERE id = 2", 2,
         shows="SELECT x FROM t WHERE id = 2", rows=one(1, 4)),
    Case("UPDATE t SET x = 0 WHERE llm_filter('{}', name)", 3, shows="SELECT x FROM t",
         rows=one(2, 0, 0, 10, 30, 40)),
    Case("UPDATE w SET label = 'z' WHERE id = 9 RETURNING llm('<{}>', label)", 1, rows=one("<z>")),
    Case("DELETE FROM t WHERE llm_filter('{}', name)", 3, shows="SELECT id FROM t", rows=one(2, 1, 3, 4)),
    Case("DELETE FROM t USING w WHERE w.id = t.id AND llm_filter('{}', label)", 3, shows="SELECT id FROM t",
         rows=one(1, 1, 3, 4, 5)),
    Case("DELETE FROM w WHERE id = 9 RETURNING llm('gone {}', label)", 1, rows=one("gone far 9")),
    Case("MERGE INTO w USING t ON w.id = t.id WHEN MATCHED THEN UPDATE SET label = llm('m {}', name)", 2,
         shows="SELECT label FROM w", rows=one(3, "m one 1", "m two 2", "m two 2", "far 9")),
    # DuckDB computes what MERGE inserts for the matched rows too
    Case("MERGE INTO w USING t ON w.id = t.id WHEN NOT MATCHED THEN INSERT VALUES (t.id, llm('i {}', t.id))",
         5,
         shows="SELECT label FROM w WHERE label LIKE 'i%'", rows=one(3, "i 3", "i 4", "i 5")),
    Case("MERGE INTO w USING t ON w.id = t.id WHEN MATCHED AND llm_filter('{}', label) THEN DELETE", 3,
         shows="SELECT label FROM w", rows=one(2, "low 1", "far 9")),
    # COPY
    Case("COPY (SELECT id, llm('<{}>', name) AS n FROM t WHERE id < 3) TO 'out.csv'",
         2, shows="FROM 'out.csv'",
         rows=[(2,), (1, "<one 1>"), (2, "<two 2>")]),
    Case("COPY (FROM t SELECT llm_filter('{}', name) AS f) TO 'out.parquet' (FORMAT parquet)", 3,
         shows="FROM 'out.parquet'", rows=one(5, False, True, False, None, True)),
    # prepared statements and parameters
    Case("PREPARE q AS SELECT llm('{}', name) FROM t WHERE id = $1; EXECUTE q(2)", 1, rows=one("two 2")),
    Case("PREPARE q AS SELECT llm('{} {}', $1, id) FROM t WHERE id < 3; EXECUTE q('p')", 2,
         rows=one("p 1", "p 2")),
    Case("PREPARE q AS SELECT llm('{}', $word); EXECUTE q(word := 'p')", 1, rows=one("p")),
    Case("SELECT llm('{} {}', ?, name) FROM t WHERE id = ?", 1, rows=one("p one 1"), parameters=["p", 1]),
    Case("SELECT llm('{}{}', $1, $1)", 1, rows=one("pp"), parameters=["p"]),
    Case("SELECT llm('{} {}', $word, name) FROM t WHERE id = $k", 1, rows=one("p one 1"),
         parameters={"word": "p", "k": 1}),
    Case("SELECT llm(?, name) FROM t WHERE id = 2", 1, rows=one("<two 2>"), parameters=["<{}>"]),
    Case("SELECT llm('{}', name, max_tokens := $1) FROM t WHERE id = 2",
         1, rows=one("two 2"), parameters=[9]),
    Case("SELECT llm_classify('{}', name, choices := $1) FROM t WHERE id = 2", 1, rows=one("p"),
         parameters=[["p", "q"]]),
    Case("SELECT llm('{}', ?), llm('{}', ?)", 1, rows=[("1", None)], parameters=[1, None]),
    # several statements
    Case("CREATE OR REPLACE TABLE made AS SELECT llm('{}', id) AS a FROM t; "
         "UPDATE made SET a = llm('<{}>', a); "
         "SELECT a FROM made WHERE a < '<3'", 10, 2, rows=one("<1>", "<2>")),
    Case("BEGIN; INSERT INTO w SELECT 3, llm('{}', name) FROM t WHERE id = 3; COMMIT; "
         "SELECT label FROM w WHERE id = 3", 1, rows=one("three 3")),
    Case("BEGIN; DELETE FROM w; SELECT llm('{}', label) FROM w; ROLLBACK", 4, shows="SELECT count(*) FROM w",
         rows=one(4)),
    Case("SELECT llm('first {}', 1); SELECT llm('last {}', 2); -- and a comment", 2, 2, rows=one("last 2")),
    Case("CREATE OR REPLACE TABLE made AS SELECT id AS a FROM t WHERE id < 3; "
         "ALTER TABLE made ALTER a TYPE VARCHAR USING llm('<{}>', a); FROM made", 2, -1,
         rows=one("<1>", "<2>")),
]  # fmt: skip
