"""Calls in a SELECT list: every way to spell them, and what stands around them."""

from __future__ import annotations

from sql_cases.case import Case, one

CASES = [
    # the plain call, whole rows, names, options
    Case(
        "SELECT id, llm('<{}>', name) FROM t",
        3,
        rows=[(1, "<one 1>"), (2, "<two 2>"), (3, "<three 3>"), (4, None), (5, "<two 2>")],
    ),
    Case("FROM t SELECT llm('x {}', name, max_tokens := 5) WHERE id < 3", 2, rows=one("x one 1", "x two 2")),
    Case(
        "SELECT llm('{name}/{id}', t) FROM t", 4, rows=one("one 1/1", "two 2/2", "three 3/3", None, "two 2/5")
    ),
    Case("SELECT llm('{NAME}', t) FROM t WHERE id = 1", 1, rows=one("one 1")),
    Case("SELECT llm('{odd name}', q) FROM (SELECT 1 AS \"odd name\") q", 1, rows=one("1")),
    Case("SELECT llm('{}', \"odd name\") FROM (SELECT 1 AS \"odd name\")", 1, rows=one("1")),
    Case("SELECT llm('{b}{a}{b}', 'x', 'y')", 1, rows=one("xyx")),
    Case("SELECT llm('{} {} {} {} {} {} {} {}', 1, 2, 3, 4, 5, 6, 7, 8)", 1, rows=one("1 2 3 4 5 6 7 8")),
    Case(
        "SELECT llm('{} {}', name, id, model => 'm', max_tokens := 3) FROM t WHERE id < 3",
        2,
        rows=one("one 1 1", "two 2 2"),
    ),
    Case("SELECT llm('{}', 1, stop := ['.'], temperature := 0.5, top_p := 0.9, seed := 7)", 1, rows=one("1")),
    Case("SELECT llm('hello')", 1, rows=one("hello")),
    Case("SELECT llm('hello'), id FROM t WHERE id < 3", 1, rows=[("hello", 1), ("hello", 2)]),
    Case("SELECT llm(NULL, name), llm('{}', NULL) FROM t WHERE id = 1", 0, 0, rows=[(None, None)]),
    # typed answers
    Case("SELECT llm_filter('{}', name) FROM t", 3, rows=one(False, True, False, None, True)),
    Case("SELECT llm_score('{}', name, lo := 0, hi := 5) FROM t", 3, rows=one(1.0, 2.0, 3.0, None, 2.0)),
    Case("SELECT llm_score('{}', name, lo := 1, hi := 5) FROM t WHERE id < 3", 2, rows=one(2.0, 3.0)),
    Case(
        "SELECT llm_classify('{}', name, choices := ['x', 'y']) FROM t", 3, rows=one("y", "x", "y", None, "x")
    ),
    Case("SELECT llm('{}', id, choices := ['x', 'y', 'z']) FROM t WHERE id < 4", 3, rows=one("y", "z", "x")),
    # the spelling of literals, names and comments
    Case("SELECT LLM('{}', id), Llm_Filter('{}', id) FROM t WHERE id = 2", 2, 2, rows=[("2", True)]),
    Case(
        "SELECT llm('it''s {}', name), llm(E'a\\n{}', id), llm($$d '{}'$$, id) FROM t WHERE id = 1",
        3,
        3,
        rows=[("it's one 1", "a\n1", "d '1'")],
    ),
    Case("SELECT llm('{{x}} {}', id), llm('a' || ' {}', id) FROM t WHERE id = 1",
         2, 2, rows=[("{x} 1", "a 1")]),
    Case(
        "SELECT /* llm('no {}') */ llm('{}', id) -- llm(\nFROM t WHERE id = 1 /* ' */", 1, rows=one("1")
    ),
    Case("SELECT llm('{}', 1_000), llm('{}', 1e3)", 2, -1, rows=[("1000", "1000.0")]),
    Case("SELECT '<{}>'.llm(name) FROM t WHERE id = 1", 1, rows=one("<one 1>")),
    Case("SELECT name.upper().lower().concat(llm('{}', id)) FROM t WHERE id = 1", 1, rows=one("one 11")),
    Case("SELECT llm('naïve 日本 {}', '🦆 ' || name) FROM t WHERE id = 1",
         1, rows=one("naïve 日本 🦆 one 1")),
    # stars and columns
    Case(
        "SELECT * EXCLUDE (g, x), llm('{}', id) FROM t WHERE id < 3",
        2,
        rows=[(1, "one 1", "1"), (2, "two 2", "2")],
    ),
    Case("SELECT * REPLACE (llm('<{}>', name) AS name) FROM t WHERE id = 1", 1, rows=[(1, "a", "<one 1>",
         10)]),
    Case("SELECT COLUMNS('n.*'), llm('<{}>', name) FROM t WHERE id = 1", 1, rows=[("one 1", "<one 1>")]),
    Case("SELECT llm('<{}>', COLUMNS('^(g|name)$')) FROM t WHERE id = 1", 2, rows=[("<a>", "<one 1>")]),
    Case("SELECT llm('{}', #1) FROM t WHERE id = 1", 1, rows=one("1")),
    # calls on calls, aliases, guards
    Case("SELECT llm('{}', name) AS n, n || '!' AS shout FROM t WHERE id = 2", 1, rows=[("two 2", "two 2!")]),
    Case(
        "SELECT llm('a {}', name) AS a, llm('b {}', a) FROM t WHERE id < 3",
        4,
        2,
        rows=[("a one 1", "b a one 1"), ("a two 2", "b a two 2")],
    ),
    Case("SELECT llm('o {}', llm('i {}', name)) FROM t WHERE id = 1", 2, 2, rows=one("o i one 1")),
    Case(
        "SELECT CASE g WHEN 'a' THEN llm('A {}', id) WHEN 'b' THEN llm('B {}', id) END FROM t",
        4,
        2,
        rows=one("A 1", "A 2", "B 3", "B 4", None),
    ),
    Case("SELECT coalesce(g, llm('none {}', id)) FROM t", 1, rows=one("a", "a", "b", "b", "none 5")),
    Case(
        "SELECT if(id > 3, llm('big {}', id), 'small') FROM t",
        2,
        rows=one("small", "small", "small", "big 4", "big 5"),
    ),
    Case("SELECT ifnull(llm('{}', g), 'none'), nullif(llm('{}', g), 'a') FROM t WHERE id IN (2, 3, 5)", 2,
         rows=[("a", None), ("b", "b"), ("none", None)]),
    Case("SELECT TRY_CAST(llm('{}', name) AS INT), llm('{}', id)::INT + 1 FROM t WHERE id = 1", 2,
         rows=[(None, 2)]),
    # lists, structs, maps, lambdas
    Case("SELECT [llm('{}', e) FOR e IN l] FROM (SELECT ['p', 'q'] AS l)", 2, rows=one(["p", "q"])),
    Case(
        "SELECT list_transform(l, lambda e: llm('<{}>', e)) FROM (SELECT ['p', 'q'] AS l)",
        2,
        rows=one(["<p>", "<q>"]),
    ),
    Case("SELECT list_filter([1, 2, 3, 4], lambda e: llm_filter('{}', e))", 4, rows=one([2, 4])),
    Case("SELECT llm('{}', s.a), llm('{}', s['b']) FROM (SELECT {'a': 1, 'b': 'z'} AS s)", 2,
         rows=[("1", "z")]),
    Case("SELECT llm('{}', l[1]), llm('{}', name[1:3]) FROM t, (SELECT [7, 8] AS l) WHERE id = 1", 2,
         rows=[("7", "one")]),
    Case("SELECT {'k': llm('{}', id), 'l': [llm_filter('{}', x)]} FROM t WHERE id = 2", 2, 2,
         rows=one({"k": "2", "l": [True]})),
    Case("SELECT map {'k': llm('{}', id)} FROM t WHERE id = 2", 1, rows=one({"k": "2"})),
    Case("SELECT struct_extract({'a': llm('{}', id)}, 'a') FROM t WHERE id = 2", 1, rows=one("2")),
    Case("SELECT unnest(['p', 'q']) AS e, llm('{}', id) FROM t WHERE id = 1", 1,
         rows=[("p", "1"), ("q", "1")]),
    Case("SELECT llm('<{}>', unnest(['p', 'q']))", 2, rows=one("<p>", "<q>")),
    # functions and operators on answers
    Case("SELECT format('{}!', llm('{}', id)), printf('%s', llm('{}', id)) FROM t WHERE id = 3", 1,
         rows=[("3!", "3")]),
    Case(
        "SELECT llm('{}', name) LIKE 'two%', llm('{}', name) GLOB 'o*', llm('{}', name) ILIKE 'ONE%' "
        "FROM t WHERE id < 3",
        2,
        rows=[(False, True, True), (True, False, False)],
    ),
    Case("SELECT regexp_extract(llm('{}', name), '(\\d+)', 1) FROM t WHERE id < 3", 2, rows=one("1", "2")),
    Case("SELECT strftime(llm('2024-01-0{}', id)::DATE, '%d') FROM t WHERE id < 3", 2, rows=one("01", "02")),
    Case("SELECT floor(llm_score('{}', id) / 2), llm_score('{}', id) ** 2 FROM t WHERE id = 3", 1,
         rows=[(1.0, 9.0)]),
    Case("SELECT hash(llm('{}', name)) = hash(name) FROM t WHERE id < 3", 2, rows=one(True, True)),
]  # fmt: skip
