"""llm_agg with DISTINCT, ORDER BY, FILTER and OVER, against the same over DuckDB's own list()."""

from __future__ import annotations

from sql_cases.case import Case

BY_ID = ("llm_agg('J {}', body ORDER BY id DESC)", "agg('J {}', list(body ORDER BY id DESC))")
ODD = (
    "llm_agg('J {}', body) FILTER (WHERE id % 2 = 1)",
    "agg('J {}', list_sort(list(body) FILTER (WHERE id % 2 = 1)))",
)
DISTINCT = ("llm_agg(DISTINCT 'J {}', l)", "agg('J {}', list_sort(list(DISTINCT l::VARCHAR)))")
NEAR = (
    "llm_agg('J {}', body ORDER BY id) OVER (PARTITION BY g ORDER BY id ROWS 1 PRECEDING)",
    "agg('J {}', list(body ORDER BY id) OVER (PARTITION BY g ORDER BY id ROWS 1 PRECEDING))",
)
WHOLE = (
    "llm_agg('J {}', body) OVER (PARTITION BY g)",
    "agg('J {}', list_sort(list(body) OVER (PARTITION BY g)))",
)


def both(text: str, num_prompts: int, num_relqueries: int, *calls: tuple[str, str]) -> Case:
    """A case over llm_agg, and its like over list(); each %s of the text is one of the calls."""
    ours, plain = zip(*calls, strict=True)
    return Case(text % ours, num_prompts, num_relqueries, like=text % plain)


CASES = [
    # each by itself
    both("SELECT g, %s FROM p WHERE id < 70 GROUP BY g", 7, 1, BY_ID),
    both("SELECT g, %s FROM p WHERE id < 70 GROUP BY g", 7, 1, ODD),
    both("SELECT g, %s FROM p WHERE id < 700 GROUP BY g", 1, 1, DISTINCT),
    both("SELECT id, %s FROM p WHERE id < 70", 70, 1, NEAR),
    both("SELECT id, %s FROM p WHERE id < 70", 7, 1, WHOLE),
    # NULLs, empty groups
    both("SELECT g, %s FROM p WHERE id < 700 GROUP BY g", 1, 1,
         ("llm_agg(DISTINCT 'J {}', title)", "agg('J {}', list_sort(list(DISTINCT title)))")),
    both("SELECT g, %s FROM p WHERE id < 70 GROUP BY g", 1, 1,
         ("llm_agg('J {}', title ORDER BY id) FILTER (g = 3)",
          "agg('J {}', list(title ORDER BY id) FILTER (g = 3))")),
    both("SELECT g, %s FROM p WHERE id < 70 GROUP BY g", 0, 0,
         ("llm_agg('J {}', body) FILTER (WHERE false)", "agg('J {}', list(body) FILTER (WHERE false))")),
    both("SELECT %s FROM nulls", 0, 0,
         ("llm_agg(DISTINCT 'J {}', t ORDER BY t)", "agg('J {}', list(DISTINCT t ORDER BY t))")),
    both("SELECT %s FROM empty", 0, 0, BY_ID),
    both("SELECT id, %s FROM empty", 0, 0, NEAR),
    both("SELECT id, %s FROM p WHERE id BETWEEN 40 AND 60", 20, 1,
         ("llm_agg('J {}', title ORDER BY id) OVER (ORDER BY id ROWS CURRENT ROW)",
          "agg('J {}', list(title ORDER BY id) OVER (ORDER BY id ROWS CURRENT ROW))")),
    # all four, options between, names for arguments
    both("SELECT g, id, %s FROM p WHERE id < 140", 15, 1,
         ("llm_agg(DISTINCT 'J {}', x, max_tokens := 99, seed := 3 ORDER BY x DESC) FILTER (WHERE id > 6) "
          "OVER (PARTITION BY g, id // 28)",
          "agg('J {}', list(DISTINCT x ORDER BY x DESC) FILTER (WHERE id > 6) "
          "OVER (PARTITION BY g, id // 28))")),
    both("SELECT g, %s FROM p WHERE id < 70 GROUP BY g", 7, 1,
         ('"LLM_Agg"(prompt := $$J {}$$, value => body -- the text\n ORDER BY id -- and its number\n)',
          "agg('J {}', list(body ORDER BY id))")),
    both("SELECT g, %s FROM p WHERE id < 70 GROUP BY g", 7, 1,
         ("llm_agg(ALL 'J {}', body ORDER BY x DESC NULLS FIRST, -id)",
          "agg('J {}', list(body ORDER BY x DESC NULLS FIRST, -id))")),
    # GROUP BY's forms, HAVING, ORDER BY, QUALIFY, DISTINCT ON
    both("SELECT g, x, %s FROM p WHERE id < 70 GROUP BY ROLLUP (g, x)", 64, 1, BY_ID),
    both("SELECT g, %s FROM p WHERE id < 70 GROUP BY CUBE (g)", 8, 1, ODD),
    both("SELECT g, %s FROM p WHERE id < 70 GROUP BY GROUPING SETS ((g), ())", 8, 1, DISTINCT),
    both("SELECT g FROM p WHERE id < 70 GROUP BY g HAVING %s LIKE '%%69%%'", 7, 1, BY_ID),
    both("SELECT g FROM p WHERE id < 70 GROUP BY g ORDER BY %s DESC", 7, 1, BY_ID),
    both("SELECT id FROM p WHERE id < 70 QUALIFY %s LIKE '%%text 9%%'", 70, 1, NEAR),
    both("SELECT DISTINCT ON (g) g, %s AS s FROM p WHERE id < 70 GROUP BY ALL", 7, 1, BY_ID),
    both("SELECT DISTINCT %s FROM p WHERE id < 70", 7, 1, WHOLE),
    both("SELECT g, %s FROM p WHERE id < 70 GROUP BY g ORDER BY g LIMIT 2", 7, 1, BY_ID),
    # several in one statement
    both("SELECT g, %s, %s FROM p WHERE id < 70 GROUP BY g", 14, 1, BY_ID, ODD),
    both("SELECT g, %s, %s, count(*) FROM p WHERE id < 70 GROUP BY g", 14, 1, BY_ID,
         ("llm_agg('J {}', body)", "agg('J {}', list_sort(list(body)))")),
    both("SELECT g, %s || ' and ' || %s FROM p WHERE id < 70 GROUP BY g", 8, 2, BY_ID,
         ("llm_agg(DISTINCT 'K {}', x)", "agg('K {}', list_sort(list(DISTINCT x::VARCHAR)))")),
    both("SELECT id, %s, %s FROM p WHERE id < 70", 77, 1, NEAR, WHOLE),
    # calls inside: in the value, the order, the filter, the window, another llm_agg
    both("SELECT g, %s FROM p WHERE id < 70 GROUP BY g", 77, 2,
         ("llm_agg('J {}', llm('o {}', body) ORDER BY id)",
          "agg('J {}', list(llm('o {}', body) ORDER BY id))")),
    both("SELECT g, %s FROM p WHERE id < 70 GROUP BY g", 77, 2,
         ("llm_agg('J {}', body ORDER BY llm_score('{}', body), id)",
          "agg('J {}', list(body ORDER BY llm_score('{}', body), id))")),
    both("SELECT g, %s FROM p WHERE id < 70 GROUP BY g", 77, 2,
         ("llm_agg('J {}', body ORDER BY id) FILTER (WHERE llm_filter('{}', body))",
          "agg('J {}', list(body ORDER BY id) FILTER (WHERE llm_filter('{}', body)))")),
    both("SELECT id, %s FROM p WHERE id < 70", 72, 2,
         ("llm_agg('J {}', body) OVER (PARTITION BY llm_filter('{}', body))",
          "agg('J {}', list_sort(list(body) OVER (PARTITION BY llm_filter('{}', body))))")),
    both("SELECT g, %s FROM p WHERE id < 70 GROUP BY g", 14, 2,
         ("llm_agg('K {}', llm_agg('J {}', body ORDER BY id) ORDER BY g) OVER (ORDER BY g)",
          "agg('K {}', list(agg('J {}', list(body ORDER BY id)) ORDER BY g) OVER (ORDER BY g))")),
    both("SELECT llm('o {}', s) FROM (SELECT %s AS s FROM p WHERE id < 70 GROUP BY g)", 14, 2, BY_ID),
    # frames and named windows
    both("SELECT id, %s FROM p WHERE id < 70 WINDOW w AS (PARTITION BY g ORDER BY id)", 70, 1,
         ("llm_agg('J {}', body ORDER BY id) OVER w", "agg('J {}', list(body ORDER BY id) OVER w)")),
    both("SELECT id, %s FROM p WHERE id < 70 WINDOW w AS (PARTITION BY g ORDER BY id)", 67, 1,
         ("llm_agg('J {}', body ORDER BY id) FILTER (id > 9) OVER (w ROWS BETWEEN 1 PRECEDING AND "
          "1 FOLLOWING EXCLUDE CURRENT ROW)",
          "agg('J {}', list(body ORDER BY id) FILTER (id > 9) OVER (w ROWS BETWEEN 1 PRECEDING AND "
          "1 FOLLOWING EXCLUDE CURRENT ROW))")),
    both("SELECT id, %s FROM p WHERE id < 20", 1, 1,
         ("llm_agg('J {}', body ORDER BY id) OVER ()", "agg('J {}', list(body ORDER BY id) OVER ())")),
    # subqueries, joins, set operations, writing
    both("SELECT u.id, (SELECT %s FROM p WHERE p.g = u.tier AND p.id < 70) FROM u", 5, 1, BY_ID),
    both("SELECT u.id, (SELECT %s FROM p WHERE p.id < 70) FROM u WHERE u.id < 60", 5, 1,
         ("llm_agg('J {}', body ORDER BY id) FILTER (WHERE p.g = u.tier)",
          "agg('J {}', list(body ORDER BY id) FILTER (WHERE p.g = u.tier))")),
    both("SELECT id, s FROM u JOIN (SELECT g, %s AS s FROM p WHERE id < 70 GROUP BY g) q ON tier = g", 5, 1,
         BY_ID),
    both("WITH c AS (SELECT g, %s AS s FROM p WHERE id < 70 GROUP BY g) FROM c WHERE g < 3", 3, 1, BY_ID),
    both("SELECT %s FROM p WHERE id < 7 UNION ALL SELECT %s FROM p WHERE id < 70", 2, 1, BY_ID, ODD),
    both("SELECT id, l FROM p WHERE id < 7 AND 'J ' < (SELECT %s FROM p WHERE id < 7)", 1, 1, BY_ID),
    both("CREATE TABLE made AS SELECT g, %s AS s FROM p WHERE id < 70 GROUP BY g; FROM made", 7, 1, BY_ID),
    both("INSERT INTO z SELECT g, %s FROM p WHERE id < 70 GROUP BY g RETURNING *", 7, 1, BY_ID),
    both("UPDATE z SET body = (SELECT %s FROM p WHERE p.id < 70 AND p.g = z.id) WHERE id < 7 RETURNING *",
         7, 1, BY_ID),
]  # fmt: skip
