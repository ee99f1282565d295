"""Several llm filters in one WHERE: the best first, whatever the text's order; rows as without."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_filters import answer, fill, made_of, once, passes, passing
from sql_fixtures import Made, make

from relserve.policies.filter_order import SAMPLE, FilterCounts, cheapest, next_block, sample_size, spread

ROWS = 10_000


def _where(*shares: int) -> str:
    """Filters in this order; their letters go by their share."""
    return " AND ".join(f"llm_filter('s {share} {{}}', x)" for share in shares)


def _least(num_rows: int, *shares: int) -> int:
    """Prompts of the best fixed order."""
    return min(_in_order(num_rows, order) for order in itertools.permutations(shares))


def _in_order(num_rows: int, shares: tuple[int, ...]) -> int:
    asked = 0
    for i in range(num_rows):
        for share in shares:
            asked += 1
            if not passes(f"s {share} x{i}"):
                break
    return asked


@pytest.mark.cells(1)
@pytest.mark.parametrize("shares", [(80, 10), (10, 80), (50, 51), (90, 50, 10), (10, 90, 50), (97, 95)])
def test_within_a_tenth_of_the_best_order(shares: tuple[int, ...]) -> None:
    made = made_of(ROWS)
    rows = made.rows(f"SELECT id FROM t WHERE {_where(*shares)}")
    assert rows == [(i,) for i in passing(ROWS, *(f"s {share} x" for share in shares))]
    assert made.engine.num_prompts <= 1.1 * _least(ROWS, *shares)


def test_with_a_limit() -> None:
    made = made_of(ROWS)
    rows = made.rows(f"SELECT id FROM t WHERE {_where(80, 10)} LIMIT 10")
    good = passing(ROWS, "s 80 x", "s 10 x")[:10]
    assert rows == [(i,) for i in good]
    num_rows = good[-1] + 1
    assert made.engine.num_prompts <= 2 * _least(num_rows, 80, 10)


@pytest.mark.long
def test_what_was_learned_helps_the_next_statement() -> None:
    made = made_of(ROWS)
    made.rows(f"SELECT id FROM t WHERE g < 5 AND {_where(80, 10)}")
    before = made.engine.num_prompts
    made.rows(f"SELECT id FROM t WHERE g >= 5 AND {_where(80, 10)}")
    rest = [i for i in range(ROWS) if i % 10 >= 5]
    least = len(rest) + sum(passes(f"s 10 x{i}") for i in rest)
    assert made.engine.num_prompts - before == least


@pytest.mark.long
def test_few_distinct_prompts_come_first() -> None:
    made = made_of(ROWS)
    made.rows("SELECT id FROM t WHERE llm_filter('s 50 {}', x) AND llm_filter('z 50 {}', g)")
    num_good = sum(passes(f"z 50 {i % 10}") for i in range(ROWS))
    assert made.engine.num_prompts <= num_good + 10 + SAMPLE


FORMS = (
    "SELECT count(*), min(id) FROM t WHERE {f}",
    "SELECT g, llm('say {{}}', g) FROM t WHERE {f} ORDER BY id LIMIT 5",
    "SELECT id FROM t WHERE id % 3 = 1 AND {f} AND g < 8",
    "SELECT DISTINCT g FROM t WHERE {f}",
    "SELECT t.id FROM t JOIN (SELECT id AS k FROM t WHERE g = 2) o ON k = t.id WHERE {f}",
    "CREATE TABLE n AS SELECT id FROM t WHERE {f}",
    "SELECT * FROM (SELECT id, x FROM t WHERE {f})",
    "UPDATE t SET g = -1 WHERE {f}",
    "DELETE FROM t WHERE {f}",
)


@pytest.mark.cells(1)
@pytest.mark.parametrize("sql", FORMS)
def test_forms(sql: str) -> None:
    made, plain = made_of(3000), made_of(3000, prefetch=False)
    results = []
    for each in (made, plain):
        rows = each.rows(sql.format(f=_where(80, 10)))
        tables = ["t", "n"] if "TABLE" in sql else ["t"]
        results.append((sorted(map(repr, rows)), [each.rows(f"FROM {name} ORDER BY id") for name in tables]))
    assert results[0] == results[1]
    if not sql.startswith(("UPDATE", "DELETE")):
        assert made.engine.num_prompts < 0.75 * plain.engine.num_prompts


def test_relation() -> None:
    made = made_of(3000)
    relation: Any = made.con.sql("FROM t").filter(_where(80, 10)).project("id")
    assert relation.fetchall() == [(i,) for i in passing(3000, "s 80 x", "s 10 x")]
    assert made.engine.num_prompts <= 1.1 * _least(3000, 80, 10)


def test_on_error_raise_keeps_the_order_of_the_text() -> None:
    made = made_of(300)
    made.con.execute("UPDATE t SET y = 'fails' WHERE id = $1", [passing(300, "s 0 x", "a 100 x") or 7])
    sql = "SELECT id FROM t WHERE llm_filter('s 0 {}', x) AND llm_filter('s 90 {}', y, on_error := 'raise')"
    assert made.rows(sql) == []


def test_data_that_changes_while_it_asks() -> None:
    """Another cursor lets a row pass that a filter had dropped; the statement sees it."""
    made: Made
    change = "UPDATE t SET y = 'y0' WHERE id = 5"
    made = made_of(2000, once(lambda: made.con.cursor().execute(change), after=1900))
    sql = "SELECT id FROM t WHERE llm_filter('a 100 {}', x) AND llm_filter('b 10 {}', y)"
    rows = made.rows(sql)
    plain = made_of(2000, prefetch=False)
    plain.con.execute(change)
    assert rows == plain.rows(sql)
    made.con.close()  # the script holds the connection


@pytest.mark.long
def test_a_file_whose_columns_are_dictionaries(tmp_path: Any) -> None:
    """DuckDB may call functions on a dictionary instead of on rows; what is side by side must stay so."""
    path = str(tmp_path / "kept.db")
    made = make(tables=False, script=answer, path=path)
    made.con.execute(
        "CREATE TABLE t AS SELECT i AS id, 'x' || (i * 7 % 50) AS x, 'y' || (i * 11 % 50) AS y "
        "FROM range(300000) r(i); CHECKPOINT"
    )
    made.con.close()
    made = make(tables=False, script=answer, path=path)
    sql = "SELECT id FROM t WHERE llm_filter('s 60 {}', x) AND llm_filter('s 40 {}', y)"
    rows = made.rows(sql)
    expected = [i for i in range(300000) if passes(f"s 60 x{i * 7 % 50}") and passes(f"s 40 y{i * 11 % 50}")]
    assert sorted(rows) == [(i,) for i in expected]
    made.con.close()


TERMS = st.sampled_from(
    [
        "llm_filter('a 30 {}', a)", "NOT llm_filter('b 60 {}', b)", "llm_filter('c 80 {}', id)",
        "llm_classify('d 50 {} {}', a, b, choices := ['p', 'q']) <> 'p'", "id % 3 <> 1", "a IS NOT NULL",
        "llm_score('e 50 {}', b, lo := 1, hi := 3) BETWEEN 1 AND 2", "(llm_filter('f 20 {}', a) OR b = '1')",
        "llm_filter('g 20 {}', b) IS NULL", "llm('h 50 {}', a) IN ('h 50 1', 'h 50 7')", "a < b",
    ]
)  # fmt: skip
CELLS = st.one_of(st.none(), st.integers(0, 300).map(str), st.just("fails"))


@settings(max_examples=25, deadline=None)
@given(
    cells=st.lists(st.tuples(CELLS, CELLS), max_size=40),
    times=st.sampled_from([1, 1, 20]),
    terms=st.lists(TERMS, min_size=2, max_size=5, unique=True),
    outputs=st.sampled_from(["id", "id, llm('out {}', id)", "count(*)", "a, max(id)"]),
)
def test_any_filters_give_the_rows_of_the_plain_udf(
    twins: tuple[Made, Made], cells: list[Any], times: int, terms: list[str], outputs: str
) -> None:
    made, plain = twins
    fill(twins, cells, times)
    sql = f"SELECT {outputs} FROM t WHERE {' AND '.join(terms)}" + (" GROUP BY a" if "max" in outputs else "")
    before = [each.engine.num_prompts for each in twins]
    made.con._state.pass_rates.clear()
    assert sorted(made.rows(sql), key=repr) == sorted(plain.rows(sql), key=repr)
    if times == 1:  # too few rows to sample
        asked = [each.engine.num_prompts - n for each, n in zip(twins, before, strict=True)]
        assert asked[0] <= asked[1]


def test_order_by_cost_and_share() -> None:
    assert cheapest({0: 10, 1: 10}, {0: 0.8, 1: 0.1}) == 1
    assert cheapest({0: 10, 1: 100}, {0: 0.8, 1: 0.1}) == 0
    assert cheapest({0: 10, 1: 0}, {0: 0.1, 1: 0.9}) == 1
    assert cheapest({0: 5, 1: 5}, {0: 0.5, 1: 0.5}) == 0


@given(st.lists(st.booleans(), min_size=1), st.integers(1, 20))
def test_blocks_ask_less_than_twice_the_least(rows: list[bool], need: int) -> None:
    done = passed = 0
    while done < len(rows) and passed < need:
        size = next_block(done, passed, need)
        assert size >= 1
        passed += sum(rows[done : done + size])
        done += size
    found = [i + 1 for i, row in enumerate(rows) if row]
    if len(found) >= need:
        assert done < 2 * max(need, found[need - 1]) or done == need


@given(st.integers(0, 5000))
def test_samples_are_spread_and_small(num_rows: int) -> None:
    size = sample_size(num_rows, limited=False)
    rows = spread(num_rows, size)
    assert len(rows) == size <= num_rows / 32
    assert all(0 <= row < num_rows for row in rows)


def test_shares_are_learned() -> None:
    seen = FilterCounts()
    assert seen.share == 0.5
    seen.add(98, 9)
    assert seen.share == pytest.approx(0.1)
