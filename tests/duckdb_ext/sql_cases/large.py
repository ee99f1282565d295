"""Texts over tables of thousands of rows: several chunks, many duplicates, NULLs; held against the oracle."""

from __future__ import annotations

from sql_cases.case import Case

CASES = [
    # projections
    Case("SELECT llm('s {}', body) FROM p", 500, 1),
    Case("SELECT id, llm('{} of {}', title, body) AS s FROM p WHERE g = 3 ORDER BY id DESC LIMIT 10", 9, 1),
    Case("SELECT llm('a {}', body) AS a, llm('b {}', title) AS b FROM p", 540, 2),
    Case("SELECT llm('a {}', body) AS a, llm('b {}', a) AS b FROM p WHERE id < 100", 200, 2),
    Case("SELECT llm('s {}', body), llm('s {}', body) || 'z' FROM p", 500, 1),
    Case("SELECT llm('o {}', llm('i {}', body)) FROM p WHERE id < 1000", 1000, 2),
    Case("SELECT upper(llm('s {}', lower(body))) FROM p WHERE id < 10", 10, 1),
    Case("SELECT DISTINCT llm('z {}', title) FROM p WHERE id < 2000", 40, 1),
    Case("FROM p SELECT llm('s {}', body) WHERE id < 9", 9, 1),
    Case("SELECT * EXCLUDE (l), llm('s {}', body) FROM p WHERE id < 9", 9, 1),
    Case("SELECT unnest(l), llm('s {}', body) FROM p WHERE id < 9", 9, 1),
    Case("SELECT llm('s {}', e) FROM (SELECT unnest(l) AS e FROM p)", 5, 1),
    Case("SELECT * FROM (SELECT llm('s {}', body) AS s FROM p) LIMIT 5", 5, 1),
    Case("SELECT llm('s {}', body) FROM p LIMIT 5 OFFSET 3", 5, 1),
    Case("SELECT llm('s {}', body) FROM p ORDER BY 1 LIMIT 3", 500, 1),
    Case("SELECT llm('const')", 1, 1),
    Case("SELECT llm('const'), id FROM p WHERE id < 5000", 1, 1),
    Case("SELECT llm('x {} {} {}', x, d, l) FROM p WHERE id < 50", 50, 1),
    # whole rows, names, typed answers, options
    Case(
        "SELECT llm('{title}: {body}', p) FROM p WHERE id < 4000",
        980,
        1,
        like="SELECT llm('{}: {}', title, body) FROM p WHERE id < 4000",
    ),
    Case("SELECT llm('{Title}', q) FROM (SELECT title FROM p) q", 40, 1, like="SELECT title FROM p"),
    Case(
        "SELECT llm('row {}', q) FROM (SELECT title, g FROM p WHERE id < 100) q",
        100,
        1,
        like="SELECT llm('row {}', "
        "format('{{\"title\": {}, \"g\": {}}}', coalesce('\"' || title || '\"', 'null'), g)) "
        "FROM p WHERE id < 100",
    ),
    Case(
        "SELECT llm('{b} {a} {b}', g, id) FROM p WHERE id < 30",
        30,
        1,
        like="SELECT llm('{} {} {}', g, id, g) FROM p WHERE id < 30",
    ),
    Case("SELECT llm_classify('c {}', title, choices := ['a', 'b']) AS c, count(*) FROM p GROUP BY c", 40, 1),
    Case("SELECT llm_score('s {}', title, lo := 1, hi := 5) FROM p WHERE id < 300", 40, 1),
    Case("SELECT llm('s {}', title, max_tokens := 5, system => 'be brief', stop := ['.']) FROM p", 40, 1),
    Case("SELECT llm('s {}', title, temperature := 0.5), llm('s {}', title) FROM p", 80, 2),
    # filters
    Case("SELECT id FROM p WHERE id % 97 = 5 AND llm_filter('z {}', body)", 104, 1),
    Case("SELECT id FROM p WHERE llm_filter('z {}', body) AND id % 97 = 5", 104, 1),
    Case("SELECT id FROM p WHERE llm_filter('g {}', body) AND g % 2 = 1 AND d < DATE '2024-03-01'", 418, 1),
    Case("SELECT id FROM p WHERE NOT llm_filter('z {}', title)", 40, 1),
    Case("SELECT id FROM p WHERE llm_filter('z {}', title) IS NULL", 40, 1),
    Case("SELECT id FROM p WHERE g = 1 OR llm_filter('z {}', body)", 500, 1),
    Case("SELECT id FROM p WHERE llm_filter('z {}', body) ORDER BY id LIMIT 5", 500, 1),
    Case("SELECT id FROM p WHERE length(llm('z {}', title)) > 3 AND id < 500", 40, 1),
    Case("SELECT id FROM p WHERE llm('z {}', title) IN ('a', 'b')", 40, 1),
    Case(
        "SELECT id, llm('then {}', title) FROM p WHERE llm_classify('{}', g, choices := ['a', 'b']) = 'a'",
        -1,
        2,
    ),
    # guards: only the rows of the branch are asked
    Case("SELECT id, CASE WHEN g = 2 THEN llm('k {}', body) END FROM p WHERE id < 3000", 429, 1),
    Case("SELECT coalesce(title, llm('k {}', body)) FROM p", 10, 1),
    Case("SELECT if(id < 20, llm('k {}', body), llm('m {}', title)) FROM p WHERE id < 30", 30, 2),
    # joins, subqueries, CTEs
    Case(
        "SELECT p.id, uname FROM p JOIN u ON p.id = u.id AND llm_filter('{} {}', body, uname) WHERE tier = 2",
        60,
        1,
    ),
    Case("SELECT u.id, p.body FROM u LEFT JOIN p ON p.id = u.id AND llm_filter('l {}', p.body)", 300, 1),
    Case("SELECT u.id FROM u SEMI JOIN p ON p.id = u.id AND p.g = 1 WHERE llm_filter('{}', uname)", 20, 1),
    Case("SELECT u.id, j.y FROM u, LATERAL (SELECT llm('j {}', u.uname) AS y) j", 20, 1),
    Case(
        "SELECT u.id, (SELECT max(llm('c {} {}', p.body, u.uname)) FROM p WHERE p.id = u.id) FROM u", 300, 1
    ),
    Case("SELECT count(*) FROM p WHERE id IN (SELECT u.id FROM u WHERE llm_filter('t {}', uname))", 20, 1),
    Case(
        "SELECT count(*) FROM u WHERE EXISTS (SELECT 1 FROM p WHERE p.id = u.id AND llm_filter('{}', body))",
        300,
        1,
    ),
    Case("SELECT s FROM (SELECT id, llm('s {}', body) AS s FROM p WHERE g = 1) q WHERE q.id < 2000", 286, 1),
    Case(
        "WITH c AS (SELECT id, llm('a {}', title) AS a FROM p) SELECT llm('b {}', a) FROM c WHERE id % 3 = 0",
        -1,
        2,
    ),
    Case("WITH c AS MATERIALIZED (SELECT llm('a {}', title) AS a FROM p) SELECT count(c.a) FROM c, u", 40, 1),
    Case("SELECT llm('q {}', title) FROM p WHERE id < 50 UNION ALL SELECT llm('q {}', uname) FROM u", 60, 1),
    Case("SELECT llm('a {}', title) FROM p EXCEPT SELECT llm('a {}', uname) FROM u", 60, 1),
    Case(
        "WITH RECURSIVE r(n, t) AS (SELECT 1, 'a' UNION ALL SELECT n + 1, llm('r {}', t) FROM r WHERE n < 4) "
        "SELECT * FROM r",
        3,
        -1,
    ),
    Case(
        "SELECT id, llm('again {}', body) FROM (FROM p WHERE id < 400 ORDER BY llm_score('s {}', title), id "
        "LIMIT 10)",
        50,
        2,
    ),
    # groups, windows
    Case("SELECT llm('c {}', title) AS c, count(*) FROM p GROUP BY llm('c {}', title)", 40, 1),
    Case("SELECT g, count(*) FROM p WHERE llm_filter('{}', title) GROUP BY ALL", 40, 1),
    Case("SELECT g, max(llm('m {}', body)) FROM p GROUP BY g", 500, 1),
    Case("SELECT g, llm('of {}', string_agg(title, ',' ORDER BY id)) FROM p WHERE id < 200 GROUP BY g", 7, 1),
    Case(
        "SELECT g FROM p WHERE id < 100 GROUP BY g HAVING count(*) > 14 AND llm_filter('{}', min(title))",
        2,
        1,
    ),
    Case("SELECT count(*) FILTER (WHERE llm_filter('{}', title)) FROM p", 40, 1),
    Case("SELECT id, row_number() OVER (PARTITION BY llm('w {}', title) ORDER BY id) FROM p", 40, 1),
    Case(
        "SELECT id FROM p QUALIFY row_number() OVER (PARTITION BY llm('w {}', title) ORDER BY id) = 1", 40, 1
    ),
    Case("SELECT DISTINCT ON (g) g, llm('d {}', body) FROM p ORDER BY g, id", 7, 1),
    Case(
        "PIVOT (SELECT llm_classify('{}', title, choices := ['a', 'b']) AS k, g FROM p) ON k USING count(*)",
        40,
        -1,
    ),
    # views, macros
    Case("SELECT count(y) FROM v WHERE id < 1000", 143, 1),
    Case("SELECT * FROM vv", 100, 1),
    Case("SELECT rate(title) FROM p", 40, 1),
    # writing
    Case(
        "CREATE TABLE made AS SELECT id, llm('n {}', body) AS s FROM p WHERE id < 3000", 500, 1, "FROM made"
    ),
    Case("INSERT INTO z SELECT id, llm('in {}', body) FROM p WHERE id < 100", 100, 1, "FROM z"),
    Case("WITH c AS (FROM p LIMIT 70) INSERT INTO z SELECT id, llm('in {}', body) FROM c", 70, 1, "FROM z"),
    Case("INSERT INTO z BY NAME SELECT llm('in {}', title) AS body FROM p", 40, 1, "FROM z"),
    Case("INSERT INTO z VALUES (-1, llm('one'))", 1, 1, "FROM z"),
    Case("UPDATE z SET body = llm('up {}', body) WHERE id < 2000", 500, 1, "FROM z"),
    Case("UPDATE z SET body = llm('up {}', uname) FROM u WHERE u.id = z.id", 20, 1, "FROM z"),
    Case("DELETE FROM z WHERE llm_filter('de {}', body)", 500, 1, "FROM z"),
    Case("DELETE FROM z USING u WHERE u.id = z.id AND llm_filter('de {}', uname)", 20, 1, "FROM z"),
    Case("INSERT INTO z SELECT 0, 'a' RETURNING llm('r {}', body)", 1, 1),
    Case(
        "CREATE TEMP TABLE tt AS SELECT llm('n {}', uname) AS s FROM u; SELECT llm('m {}', s) FROM tt", 40, 2
    ),
    Case("SUMMARIZE SELECT llm('sm {}', title) AS s FROM p", 40, 1),
    # odd data
    Case("SELECT llm('odd {}', t) FROM odd", 11, 1),
    Case("SELECT length(llm('long {}', repeat('x', 900000 + (id % 2)::INT))) FROM p WHERE id < 4", 2, 1),
    # nothing to ask
    Case("SELECT llm('n {}', t) FROM nulls", 0, 0),
    Case("SELECT llm('n {}', body), llm_filter('{}', id) FROM empty", 0, 0),
    Case("SELECT llm('n {}', body) FROM p WHERE id < 0", 0, 0),
    Case("SELECT llm('n {}', body) FROM p LIMIT 0", 0, 0),
    Case("SELECT llm('n {}', NULL), llm(NULL, body) FROM p LIMIT 3", 0, 0),
    Case("SELECT llm('n {} {}', body, t) FROM p JOIN nulls USING (id)", 0, 0),
    # without prefetch: chunks, as DuckDB hands them over
    Case("SELECT id FROM p WHERE llm_filter('z {}', id) LIMIT 5", -1, -1),
    Case("SELECT * FROM (SELECT id FROM p WHERE llm_filter('z {}', id)) LIMIT 5", -1, -1),
    Case("SELECT count(llm('z {}', id + 0 * random())) FROM p WHERE id < 10", 10, 1),
    Case("SELECT llm_filter('{}', title) OR llm_filter('{}', body) FROM p WHERE id < 60", -1, -1),
]
