"""LIMIT over llm filters: asks until enough rows have passed, and gives rows that all pass."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
import relserve_duckdb.user.runner as runner
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_filters import fill, made_of, once, passing
from sql_fixtures import Made

from relserve.errors import RowError
from tests.waiting import act_when, wait_until

ROWS = 10_000
FILTER = "llm_filter('a 10 {}', x)"


@pytest.mark.cells(2)
@pytest.mark.parametrize("share", [1, 10, 50, 90])
def test_at_most_twice_the_least(share: int) -> None:
    made = made_of(ROWS)
    good = passing(ROWS, f"a {share} x")
    rows = made.rows(f"SELECT id FROM t WHERE llm_filter('a {share} {{}}', x) LIMIT 10")
    assert rows == [(i,) for i in good[:10]]
    assert made.engine.num_prompts <= 2 * (good[9] + 1)


FORMS = {
    "offset": ("SELECT id FROM t WHERE {f} LIMIT 6 OFFSET 4", 6),
    "negated": ("SELECT id FROM t WHERE NOT llm_filter('a 90 {{}}', x) LIMIT 10", 10),
    "comparison": (
        "SELECT id FROM t WHERE llm_classify('a 10 {{}}', x, choices := ['p', 'q']) = 'p' LIMIT 10",
        10,
    ),
    "score": ("SELECT id FROM t WHERE llm_score('a 90 {{}}', x, lo := 1, hi := 5) > 4 LIMIT 10", 10),
    "beside a cheap one": ("SELECT id FROM t WHERE g = 3 AND {f} LIMIT 10", 10),
    "outputs": ("SELECT id, llm('say {{}}', x) FROM t WHERE {f} LIMIT 10", 10),
    "cte": ("WITH c AS (SELECT * FROM t WHERE g < 9) SELECT id FROM c WHERE {f} LIMIT 10", 10),
    "join": ("SELECT t.id FROM t JOIN (SELECT id FROM t WHERE g < 5) o USING (id) WHERE {f} LIMIT 10", 10),
    "subquery": ("SELECT * FROM (SELECT id, y FROM t WHERE {f}) LIMIT 10", 10),
    "two limits": ("SELECT * FROM (SELECT id, y FROM t WHERE {f} LIMIT 20) LIMIT 10", 10),
    "distinct inputs": ("SELECT id FROM t WHERE llm_filter('a 50 {{}}', g) LIMIT 10", 10),
}


@pytest.mark.cells(2)
@pytest.mark.parametrize("name", FORMS)
def test_forms(name: str) -> None:
    sql, num_rows = FORMS[name][0].format(f=FILTER), FORMS[name][1]
    made, plain = made_of(ROWS), made_of(ROWS, prefetch=False)
    rows = made.rows(sql)
    assert len(rows) == num_rows
    full = sql.replace(" LIMIT 10", "").replace(" LIMIT 6 OFFSET 4", "").replace(" LIMIT 20", "")
    assert set(rows) <= set(plain.rows(full))
    assert made.engine.num_prompts < 500


def test_what_is_still_on_its_way_is_aborted() -> None:
    needed = passing(ROWS, "a 30 x")[29] + 1
    made = made_of(ROWS, chunk=1, stalls_after=needed)
    assert len(made.rows("SELECT id FROM t WHERE llm_filter('a 30 {}', x) LIMIT 30")) == 30
    assert made.engine.num_answered == needed < made.engine.num_prompts
    wait_until(lambda: made.engine.num_answered + made.engine.aborted == made.engine.num_prompts)
    assert made.rows("SELECT count(*) FROM llm_queries() WHERE state <> 'done'") == [(0,)]


def test_fewer_rows_than_the_limit_asks_all() -> None:
    made = made_of(300)
    good = passing(300, "a 10 x")
    assert made.rows(f"SELECT id FROM t WHERE {FILTER} LIMIT 1000") == [(i,) for i in good]
    assert made.engine.num_prompts == 300


@pytest.mark.long
def test_no_row_passes() -> None:
    made = made_of(3000)
    assert made.rows("SELECT id FROM t WHERE llm_filter('a 0 {}', x) LIMIT 1") == []
    assert made.engine.num_prompts == 3000


def test_parameters() -> None:
    made = made_of(ROWS)
    rows = made.rows("SELECT id FROM t WHERE llm_filter($3, x) LIMIT $1 OFFSET $2", [5, 2, "a 10 {}"])
    good = [(i,) for i in passing(ROWS, "a 10 x")]
    assert rows == good[2:7]
    assert made.rows("SELECT id FROM t WHERE llm_filter('a 10 {}', x) LIMIT $n", {"n": 5}) == good[:5]
    assert made.rows("SELECT id FROM t WHERE llm_filter('a 10 {}', x) LIMIT ?", [5]) == good[:5]
    assert made.engine.num_prompts < 500
    assert made.rows("SELECT id FROM t WHERE llm_filter(?, x) LIMIT ?", ["a 10 {}", 5]) == good[:5]


def test_relations() -> None:
    made = made_of(ROWS)
    relation: Any = made.con.sql(f"SELECT id FROM t WHERE {FILTER}")
    good = passing(ROWS, "a 10 x")
    assert relation.limit(10).fetchall() == [(i,) for i in good[:10]]
    assert made.engine.num_prompts < 2 * good[9]
    chained: Any = made.con.sql("FROM t").filter(FILTER).project("id").limit(10)
    assert chained.df()["id"].tolist() == good[:10]
    text: Any = made.con.sql(f"SELECT id FROM t WHERE {FILTER} LIMIT 10")
    assert text.fetchall() == [(i,) for i in good[:10]]
    assert made.engine.num_prompts < 6 * good[9]


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    "sql", ["CREATE TABLE n AS {}", "CREATE TABLE n (id BIGINT); INSERT INTO n {}", "CREATE TABLE n AS ({})"]
)
def test_writing_statements(sql: str) -> None:
    made = made_of(ROWS)
    good = passing(ROWS, "a 10 x")
    made.con.execute(sql.format(f"SELECT id FROM t WHERE {FILTER} LIMIT 10"))
    assert made.rows("FROM n ORDER BY id") == [(i,) for i in good[:10]]
    if "({})" not in sql:  # in parentheses the SELECT is not found in the text
        assert made.engine.num_prompts <= 2 * (good[9] + 1)


# what a LIMIT may not cut short: the rows depend on all that pass
WHOLE = (
    "SELECT id FROM t WHERE {f} ORDER BY id DESC LIMIT 3",
    "SELECT g, count(*) FROM t WHERE {f} GROUP BY g LIMIT 3",
    "SELECT count(*) FROM t WHERE {f} LIMIT 1",
    "SELECT DISTINCT g FROM t WHERE {f} LIMIT 3",
    "SELECT id, count(*) OVER () FROM t WHERE {f} LIMIT 3",
    "SELECT approx_count_distinct(id) FROM t WHERE {f} LIMIT 1",
    "SELECT * FROM (SELECT sum(id) FROM t WHERE {f}) LIMIT 1",
)


@pytest.mark.cells(1)
@pytest.mark.parametrize("sql", WHOLE)
def test_what_needs_all_rows_sees_all_rows(sql: str) -> None:
    made, plain = made_of(3000), made_of(3000, prefetch=False)
    full = plain.rows(sql.format(f=FILTER).replace("LIMIT 3", ""))
    rows = made.rows(sql.format(f=FILTER))
    assert len(rows) == min(len(full), 3)
    assert set(rows) <= set(full)
    assert plain.engine.num_prompts == 3000


# a row may pass for a NULL answer, so missing answers would change what passes
NULLS = (
    "SELECT id FROM t WHERE llm_filter('a 50 {}', x) IS NULL LIMIT 3",
    "SELECT id FROM t WHERE coalesce(llm_filter('a 0 {}', x), true) LIMIT 3",
    "SELECT id FROM t WHERE llm_filter('a 0 {}', x) IS DISTINCT FROM false LIMIT 3",
    "SELECT id FROM t WHERE CASE WHEN llm_filter('a 0 {}', x) THEN false ELSE id > 2990 END LIMIT 3",
)


@pytest.mark.cells(1)
@pytest.mark.parametrize("sql", NULLS)
def test_null_is_not_taken_for_an_answer(sql: str) -> None:
    assert made_of(3000).rows(sql) == made_of(3000, prefetch=False).rows(sql)


def test_failed_rows_do_not_pass_and_are_on_record() -> None:
    made = made_of(100)
    made.con.execute("UPDATE t SET x = 'fails ' || id WHERE id % 2 = 0")
    rows = made.rows("SELECT id FROM t WHERE llm_filter('a 100 {}', x) LIMIT 5")
    assert len(rows) == 5
    assert all(i % 2 == 1 for (i,) in rows)
    assert made.rows("SELECT count(*) > 0 FROM llm_errors()") == [(True,)]


def test_a_failing_row_raises_when_asked_to() -> None:
    made = made_of(100)
    made.con.execute("UPDATE t SET x = 'fails' WHERE id = 0")
    with pytest.raises(RowError):
        made.rows("SELECT id FROM t WHERE llm_filter('a 100 {}', x, on_error := 'raise') LIMIT 5")
    assert made.rows(f"SELECT count(*) FROM t WHERE g = 1 AND {FILTER}") == [(len(_tens()),)]


def _tens() -> list[int]:
    return [i for i in passing(100, "a 10 x") if i % 10 == 1]


def test_explain_asks_nothing() -> None:
    made = made_of(100)
    made.rows(f"EXPLAIN SELECT id FROM t WHERE {FILTER} LIMIT 10")
    assert made.engine.num_prompts == 0


def test_interrupt() -> None:
    made = made_of(ROWS, chunk=1, stalls_after=1)
    act_when(lambda: made.engine.num_answered, made.con.interrupt)
    with pytest.raises(duckdb.InterruptException):
        made.rows(f"SELECT id FROM t WHERE {FILTER} LIMIT 10")
    made.engine.stalls_after = None
    assert len(made.rows(f"SELECT id FROM t WHERE {FILTER} LIMIT 10")) == 10


def test_inside_a_transaction_the_rows_are_right() -> None:
    made = made_of(3000)
    made.con.execute("BEGIN; DELETE FROM t WHERE id < 500")
    good = [i for i in passing(3000, "a 10 x") if i >= 500]
    assert made.rows(f"SELECT id FROM t WHERE {FILTER} LIMIT 10") == [(i,) for i in good[:10]]
    made.con.execute("ROLLBACK")


@pytest.mark.long
def test_rows_deleted_while_it_asks() -> None:
    """Another cursor deletes rows that have passed already."""
    made: Made
    made = made_of(ROWS, once(lambda: made.con.cursor().execute("DELETE FROM t WHERE id < 150"), after=40))
    good = [i for i in passing(ROWS, "a 10 x") if i >= 150]
    assert made.rows(f"SELECT id FROM t WHERE {FILTER} LIMIT 10") == [(i,) for i in good[:10]]
    made.con.close()  # the script holds the connection


def test_rows_deleted_after_the_last_rehearsal(monkeypatch: pytest.MonkeyPatch) -> None:
    made = made_of(ROWS)
    cursor, prefetch = made.con.cursor(), runner.prefetch

    def and_then_delete(*args: Any) -> None:
        prefetch(*args)
        cursor.execute("DELETE FROM t WHERE id < 150")

    monkeypatch.setattr(runner, "prefetch", and_then_delete)
    good = [i for i in passing(ROWS, "a 10 x") if i >= 150]
    assert made.rows(f"SELECT id FROM t WHERE {FILTER} LIMIT 10") == [(i,) for i in good[:10]]
    made.con.close()


@pytest.mark.long
def test_many_threads_and_row_groups() -> None:
    made = made_of(500_000)
    made.con.execute("SET threads = 4")
    rows = made.rows("SELECT id FROM t WHERE llm_filter('a 1 {}', x) LIMIT 10")
    good = set(passing(500_000, "a 1 x"))
    assert len(set(rows)) == 10
    assert all(i in good for (i,) in rows)
    assert made.engine.num_prompts < 10_000


TERMS = st.sampled_from(
    [
        "llm_filter('a 30 {}', a)", "NOT llm_filter('b 60 {}', b)", "llm_filter('c 80 {}', id)",
        "llm_classify('d 50 {} {}', a, b, choices := ['p', 'q']) = 'p'", "id % 3 <> 1", "a IS NOT NULL",
        "llm_score('e 50 {}', b, lo := 1, hi := 3) <= 1", "(llm_filter('f 20 {}', a) OR b = '1')",
        "llm_filter('g 20 {}', b) IS NULL", "llm('h 50 {}', a) LIKE 'h%2'",
    ]
)  # fmt: skip
CELLS = st.one_of(st.none(), st.integers(0, 40).map(str), st.just("fails"))


@settings(max_examples=25, deadline=None)
@given(
    cells=st.lists(st.tuples(CELLS, CELLS), max_size=80),
    terms=st.lists(TERMS, min_size=1, max_size=4, unique=True),
    limit=st.integers(0, 12),
    offset=st.integers(0, 4),
    outputs=st.sampled_from(["id", "id, llm('out {}', id)", "id, a || b"]),
)
def test_any_limit_gives_rows_that_pass(
    twins: tuple[Made, Made], cells: list[Any], terms: list[str], limit: int, offset: int, outputs: str
) -> None:
    _, plain = twins
    fill(twins, cells)
    sql = f"SELECT {outputs} FROM t WHERE {' AND '.join(terms)}"
    full = plain.rows(sql)
    before = [each.engine.num_prompts for each in twins]
    rows, _ = (each.rows(f"{sql} LIMIT {limit} OFFSET {offset}") for each in twins)
    assert len(rows) == min(limit, max(0, len(full) - offset))
    assert len(set(rows)) == len(rows)
    assert set(rows) <= set(full)
    if sum("llm" in term for term in terms) == 1:
        asked = [each.engine.num_prompts - n for each, n in zip(twins, before, strict=True)]
        assert asked[0] <= asked[1]
