"""llm_agg in SQL: groups, NULLs, grouping sets, HAVING, parts, and what it does not take."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from sql_fixtures import Made, make

from relserve.errors import OptionError, TemplateError, UsageError

T = "(VALUES ('a', 'x'), ('a', 'y'), ('b', 'z'), ('b', NULL), ('c', NULL), ('d', 'it''s {odd}')) t(g, body)"


def rows_of(made: Made, sql: str, parameters: Any = None) -> list[tuple[Any, ...]]:
    return sorted(made.rows(sql, parameters), key=str)


@pytest.mark.parametrize("prefetch", [True, False])
def test_a_group_is_one_prompt_with_its_values_in_order_and_without_nulls(prefetch: bool) -> None:
    made = make(prefetch, script=lambda prompt, submission: prompt)
    assert rows_of(made, f"SELECT g, llm_agg('Join: {{}}', body) FROM {T} GROUP BY g") == [
        ("a", "Join: \n1. x\n2. y"),
        ("b", "Join: \n1. z"),
        ("c", None),
        ("d", "Join: \n1. it's {odd}"),
    ]
    assert made.asked[0] == 3
    assert made.asked[1] == 1 or not prefetch


def test_without_group_by_and_over_nothing(made: Made) -> None:
    sql = f"SELECT llm_agg('J {{v}}!', body) FROM {T} WHERE g < 'd'"
    assert made.rows(sql) == [("J \n1. x\n2. y\n3. z!",)]
    assert made.rows("SELECT llm_agg('J {}', body) FROM empty") == [(None,)]
    assert made.rows("SELECT g, llm_agg('J {}', body) FROM empty GROUP BY g") == []
    assert made.rows("SELECT llm_agg('J {}', t) FROM nulls") == [(None,)]
    assert made.asked == (1, 1)


def test_values_that_are_no_texts_read_as_duckdb_prints_them(made: Made) -> None:
    sql = "SELECT llm_agg('{}', v) FROM (VALUES (DATE '2024-01-31'), (DATE '1999-12-31')) t(v)"
    assert made.rows(sql) == [("1. 1999-12-31\n2. 2024-01-31",)]
    sql = "SELECT llm_agg('{}', p) FROM (SELECT 1 AS a, 2.50 AS b) p"
    assert made.rows(sql) == [("1. {'a': 1, 'b': 2.50}",)]


AGG = "llm_agg('J {}', body)"
# groups of the whole table take three parts and a second round
FORMS = [
    (f"SELECT g, x, {AGG} FROM p WHERE id < 200 GROUP BY ROLLUP (g, x)", 64, 1),
    (f"SELECT g, {AGG} FROM p WHERE id < 100 GROUP BY GROUPING SETS ((g), ())", 8, 1),
    (f"SELECT g, {AGG} FROM p WHERE id < 100 GROUP BY CUBE (g)", 8, 1),
    (f"SELECT g FROM p WHERE id < 100 GROUP BY g HAVING {AGG} LIKE 'J%'", 7, 1),
    (f"SELECT g FROM p WHERE id < 100 GROUP BY g HAVING count(*) > 14 AND {AGG} IS NOT NULL", 2, 1),
    (f"SELECT g, {AGG} AS s FROM p WHERE id < 100 GROUP BY ALL ORDER BY s LIMIT 3", 7, 1),
    (f"SELECT g, {AGG}, {AGG} || '!', count(*), max(title) FROM p WHERE id < 100 GROUP BY g", 7, 1),
    ("SELECT g, llm_agg('J {}', body), llm_agg('K {}', title) FROM p WHERE id < 100 GROUP BY g", 14, 2),
    ("SELECT g, llm_agg('J {}', llm('o {}', body)) FROM p WHERE id < 70 GROUP BY g", 77, 2),
    ("SELECT llm('o {}', s) FROM (SELECT llm_agg('J {}', body) AS s FROM p WHERE id < 70 GROUP BY g)", 14, 2),
    ("SELECT g, llm_agg('J {}', body) FROM p WHERE id < 700 AND llm_filter('{}', title) GROUP BY g", 47, 2),
    ("SELECT llm_classify('{}', title, choices := ['a', 'b']) AS c, llm_agg('J {}', body) FROM p "
     "WHERE id < 90 GROUP BY c", 43, 2),
    ("SELECT llm_classify('{}', title, choices := ['a', 'b']), llm_agg('J {}', body) FROM p "
     "WHERE id < 90 GROUP BY 1", 43, 2),
    ("SELECT llm_classify('{}', title, choices := ['a', 'b']), llm_agg('J {}', body) FROM p "
     "WHERE id < 90 GROUP BY ALL", 43, 2),
    ("SELECT u.id, (SELECT llm_agg('J {}', body) FROM p WHERE p.g = u.tier) FROM u", 20, 2),
    ("SELECT id, s FROM p JOIN (SELECT g, llm_agg('J {}', title) AS s FROM p GROUP BY g) USING (g)", 28, 2),
    ("WITH c AS (SELECT g, llm_agg('J {}', title) AS s FROM p GROUP BY g) FROM c WHERE g < 3", 12, 2),
    ("SELECT g, llm_agg('J {}', body) FROM p WHERE g > 99 GROUP BY g", 0, 0),
]  # fmt: skip


@pytest.mark.cells(3)
@pytest.mark.parametrize(("sql", "num_prompts", "num_relqueries"), FORMS, ids=[sql for sql, _, _ in FORMS])
def test_every_form_gives_the_rows_of_the_plain_udf_in_one_relquery_a_call(
    sql: str, num_prompts: int, num_relqueries: int
) -> None:
    plain, made = make(prefetch=False), make()
    assert rows_of(made, sql) == rows_of(plain, sql)
    assert made.asked == (num_prompts, num_relqueries)


@pytest.mark.long
def test_threads_that_collect_in_any_order_make_the_same_prompt() -> None:
    made = make()
    sql = "SELECT g, llm_agg('J {}', body, max_chars := 1000000) FROM p, range(40) GROUP BY g"
    for _ in range(3):
        made.rows(sql)
    prompts = [sorted(submission.prompts) for submission in made.engine.submissions]
    assert [len(each) for each in prompts] == [7, 7, 7]
    assert prompts[0] == prompts[1] == prompts[2]


@pytest.mark.cells(1)
@pytest.mark.parametrize("prefetch", [True, False])
def test_a_group_over_max_chars_is_answered_in_rounds(prefetch: bool) -> None:
    made = make(prefetch)
    (whole,) = made.rows("SELECT llm_agg('J {}', body) FROM p WHERE id < 400")
    before = made.asked
    (parted,) = made.rows("SELECT llm_agg('J {}', body, max_chars := 1000) FROM p WHERE id < 400")
    assert whole != parted
    assert made.asked[1] - before[1] == 2
    first, second = made.engine.submissions[-2:]
    assert all(len(prompt) <= 1010 for prompt in first.prompts)
    assert len(first.prompts) > 5
    assert len(second.prompts) == 1
    states = made.rows("SELECT function, state FROM llm_queries()")
    assert set(states) == {("llm_agg", "done")}


def test_a_group_over_the_context_is_split_and_a_value_over_it_fails() -> None:
    made = make(max_prompt_chars=300)
    sql = "SELECT g, llm_agg('J {}', body) IS NULL FROM p WHERE id < 700 GROUP BY g"
    assert rows_of(made, sql) == [(g, False) for g in range(7)]
    assert made.rows("SELECT count(*) FROM llm_errors()") == [(0,)]
    sql = "SELECT i, llm_agg('J {}', repeat('x', i * 200)) IS NULL FROM range(3) t(i) GROUP BY i"
    assert rows_of(made, sql) == [(0, False), (1, False), (2, True)]
    assert made.rows("SELECT kind, rows FROM llm_errors()") == [("over_context", 1)]


def test_arguments_may_be_given_by_name(made: Made) -> None:
    made.rows(f"SELECT llm_agg(prompt := 'J {{}}', value := body), llm_agg('J {{}}', value := body) FROM {T}")
    assert made.asked == (1, 1)


def test_options(made: Made) -> None:
    made.rows(f"SELECT llm_agg('J {{}}', body, max_tokens := 7, system := 'Be brief.') FROM {T}")
    (submission,) = made.engine.submissions
    assert (submission.sampling.max_tokens, submission.system) == (7, "Be brief.")


@pytest.mark.parametrize(
    ("sql", "kind", "message"),
    [
        ("SELECT llm_agg('J {}') FROM p", UsageError, "takes one value .* not 0"),
        ("SELECT llm_agg('J {} {}', body, title) FROM p", UsageError, "not 2; .* concat_ws"),
        ("SELECT llm_agg('J', body) FROM p", TemplateError, "argument 1 has no placeholder"),
        ("SELECT llm_agg('J {} {}', body) FROM p", TemplateError, "has no argument"),
        ("SELECT llm_agg('J {}', body, choices := ['a']) FROM p", OptionError, "no option 'choices'"),
        ("SELECT llm_agg('J {}', body, max_chars := 0) FROM p", OptionError, "max_chars must be from 1"),
    ],
)
def test_what_it_does_not_take_is_refused_with_the_way_out(
    refusing: Made, sql: str, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        refusing.rows(sql)
    assert refusing.asked == (0, 0)


def test_it_is_no_scalar_function(made: Made) -> None:
    with pytest.raises(duckdb.BinderException):
        made.rows("SELECT id FROM p WHERE llm_agg('J {}', body) = 'x'")
