"""A call site is one relQuery, in llm_queries() and for the engine, in however many rounds it is asked."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from scripted_filters import made_of, passes, passing
from sql_fixtures import Made, make

from relserve.engines.scripted import by_hash
from relserve.errors import SpendingError
from relserve.session.caps import Limits

ROWS = 10_000
TWO_FILTERS = "SELECT id FROM t WHERE llm_filter('s 80 {}', x) AND llm_filter('s 10 {}', x)"
COLUMNS = "template, state, rows, null_rows, distinct_prompts, answered"


def relqueries(made: Made) -> dict[str, tuple[Any, ...]]:
    """The lines of llm_queries() by their templates; each template has one."""
    rows = made.rows(f"SELECT {COLUMNS} FROM llm_queries()")
    found = {template: rest for template, *rest in rows}
    assert len(found) == len(rows)
    return {template: tuple(rest) for template, rest in found.items()}


def ids_and_rounds(made: Made) -> tuple[int, int]:
    """How many relQueries the engine saw, and in how many submissions."""
    return len({each.rel_id for each in made.engine.submissions}), len(made.engine.submissions)


@pytest.mark.long
def test_two_filters_over_many_rows() -> None:
    made = made_of(ROWS)
    made.rows(TWO_FILTERS)
    num_relqueries, num_rounds = ids_and_rounds(made)
    assert num_relqueries == 2
    assert num_rounds > 4
    found = relqueries(made)
    assert found.keys() == {"s 80 {}", "s 10 {}"}
    assert {state for state, *_ in found.values()} == {"done"}
    for template, (_, num_rows, num_null, num_distinct, num_answered) in found.items():
        sent = [p for each in made.engine.submissions for p in each.prompts if template[:-2] in p]
        assert (num_rows, num_null, num_distinct, num_answered) == (len(sent), 0, len(sent), len(sent))


def test_rows_announced_are_those_of_the_table_until_the_last_round() -> None:
    made = made_of(ROWS)
    made.rows(TWO_FILTERS)
    for rel_id in {each.rel_id for each in made.engine.submissions}:
        rounds = [each for each in made.engine.submissions if each.rel_id == rel_id]
        asked = 0
        for each in rounds:
            asked += len(each.prompts)
            assert each.rows == (asked if each is rounds[-1] else ROWS)


@pytest.mark.long
def test_a_limit() -> None:
    made = made_of(ROWS)
    rows = made.rows(f"{TWO_FILTERS} LIMIT 10")
    assert rows == [(i,) for i in passing(ROWS, "s 80 x", "s 10 x")[:10]]
    assert ids_and_rounds(made)[0] == 2
    assert ids_and_rounds(made)[1] > 4
    assert {state for state, *_ in relqueries(made).values()} == {"done"}
    one = made_of(ROWS)
    one.rows("SELECT id FROM t WHERE llm_filter('s 10 {}', x) LIMIT 10")
    assert ids_and_rounds(one)[0] == 1
    assert ids_and_rounds(one)[1] > 1
    ((_, _, _, num_distinct, _),) = relqueries(one).values()
    assert num_distinct == one.engine.num_prompts


def test_rows_announced_under_a_limit_are_those_of_the_blocks() -> None:
    made = made_of(ROWS)
    made.rows(f"{TWO_FILTERS} LIMIT 10")
    for rel_id in {each.rel_id for each in made.engine.submissions}:
        asked = 0
        for each in [each for each in made.engine.submissions if each.rel_id == rel_id]:
            asked += len(each.prompts)
            assert asked <= (each.rows or 0) <= 2 * asked + 16


def test_an_aggregate_in_rounds() -> None:
    made = make()
    made.rows("SELECT g, llm_agg('J {}', body, max_chars := 200) FROM p WHERE id < 4000 GROUP BY g")
    num_relqueries, num_rounds = ids_and_rounds(made)
    assert num_relqueries == 1
    assert num_rounds > 2
    ((state, _, num_null, num_distinct, num_answered),) = relqueries(made).values()
    assert (state, num_null, num_distinct) == ("done", 0, made.engine.num_prompts)
    assert num_answered == num_distinct


def test_chunks_of_a_statement_without_prefetch() -> None:
    made = make(prefetch=False)
    made.rows("SELECT llm('s {}', title) FROM p WHERE id % 7 < 5")
    assert ids_and_rounds(made)[0] == 1
    assert relqueries(made)["s {}"][0] == "done"
    assert relqueries(made)["s {}"][3] == 40


@pytest.mark.long
def test_rehearsals_count_rows_with_a_null_once() -> None:
    made = make()
    made.rows("SELECT llm('o {}', llm('i {}', title)) FROM p")
    found = relqueries(made)
    assert found == {"i {}": ("done", 10_000, 200, 40, 40), "o {}": ("done", 10_000, 200, 40, 40)}


def test_statements_of_one_text_have_relqueries_of_their_own() -> None:
    made = made_of(100)
    sql = "SELECT count(*) FROM t WHERE llm_filter('s 50 {}', x)"
    made.rows(f"{sql}; {sql}")
    assert made.rows(sql) == [(sum(passes(f"s 50 x{i}") for i in range(100)),)]
    assert made.rows("SELECT statement, count(*) FROM llm_queries() GROUP BY ALL ORDER BY ALL") == [
        (1, 2), (2, 1),
    ]  # fmt: skip


def test_a_relquery_reads_done_while_its_rows_are_still_read() -> None:
    made = make(prefetch=False)
    made.con.execute("SET threads = 1; SET streaming_buffer_size = '1KB'; SELECT llm('s {}', id) FROM p")
    made.con.fetchmany(3)
    (record,) = made.con.session.history.queries()
    assert (record.state, record.seconds is not None) == ("done", True)
    assert record.num_distinct < ROWS
    assert len(made.con.fetchall()) == ROWS - 3
    assert [each.num_distinct for each in made.con.session.history.queries()] == [ROWS]


@pytest.mark.cells(1)
@pytest.mark.parametrize(
    ("call", "functions", "num_asked"),
    [
        # the names of two clusters, too
        ("llm_topics('t', x, k := 2)", ["llm", "llm_embed", "llm_agg"], 5002),
        ("llm_topics('t', x, k := 2) LIMIT 3", ["llm", "llm_embed", "llm_agg"], 5002),
        ("llm_rerank('t', x, 'x7', among := 2500)", ["llm_embed", "llm_prob"], 5000),
    ],
)
def test_a_table_that_asks_submits_all_rows_together(call: str, functions: list[str], num_asked: int) -> None:
    made = made_of(2500, by_hash)
    explained = made.con.explain_llm(f"FROM {call}").table.to_pylist()
    assert [each["function"] for each in explained] == functions
    assert sum(each["distinct_prompts"] for each in explained) == num_asked
    for run in (made.con.execute, made.con.sql):
        made.engine.submissions.clear()
        run(f"FROM {call}").fetchall()
        rounds = [len(each.prompts) for each in made.engine.submissions]
        assert sum(rounds) == num_asked
        assert len(rounds) <= 3, "no chunk of 2,048 rows is a round of its own"


MANY = "SELECT i, llm('n {}', i) AS y FROM range(5000) t(i)"
HINDI = "\u0939\u093f\u0928\u094d\u0926\u0940"  # its vowels are no letters to `re`
OVER_OTHERS = {
    "a view": (f"CREATE VIEW inner_view AS {MANY}", "CREATE VIEW outer_view AS SELECT y FROM inner_view",
               "FROM outer_view"),
    "a macro": ("CREATE MACRO inner_macro(t) AS llm('n {}', t)",
                "CREATE MACRO outer_macro(t) AS upper(inner_macro(t))",
                "SELECT outer_macro(i) FROM range(5000) t(i)"),
    "a view of a schema": ("CREATE SCHEMA a", "CREATE SCHEMA b", "CREATE VIEW b.v AS SELECT 1 AS y",
                           f"CREATE VIEW a.v AS {MANY}", "CREATE OR REPLACE VIEW b.v AS SELECT 2 AS y",
                           "FROM a.v"),
    "one of a macro's forms": ("CREATE MACRO m(t) AS llm('n {}', t), (t, u) AS t + u",
                               "SELECT m(i) FROM range(5000) t(i)"),
    "a macro named as ours are": ("CREATE MACRO llm_tone(t) AS llm('n {}', t)",
                                  "SELECT llm_tone(i) FROM range(5000) t(i)"),
    "a name in another script": (f'CREATE VIEW "{HINDI}" AS {MANY}', f'FROM "{HINDI}"'),
    "a name with quotes": (f'CREATE VIEW "a ""b""" AS {MANY}', 'FROM "a ""b"""'),
    "a view that was renamed": (f"CREATE VIEW v AS {MANY}", "ALTER VIEW v RENAME TO w", "FROM w"),
    "one renamed as a table is": (f"CREATE VIEW v AS {MANY}", "ALTER TABLE v RENAME TO w", "FROM w"),
    "the second statement of a text": (f"CREATE VIEW v AS {MANY}; CREATE VIEW w AS FROM v", "FROM w"),
    "a prepared statement": ("PREPARE p AS SELECT llm('n {}', i) FROM range(?) t(i)", "EXECUTE p(5000)"),
    "one with names": ("PREPARE p AS SELECT llm($a || ' {}', i) FROM range($b) t(i)",
                       "EXECUTE p(b := 5000, a := 'n') -- all"),
}  # fmt: skip


@pytest.mark.cells(5)
@pytest.mark.parametrize("kind", OVER_OTHERS)
def test_what_calls_through_another_is_looked_at_and_asked_together(kind: str) -> None:
    made = make(tables=False)
    *definitions, query = OVER_OTHERS[kind]
    for text in definitions:
        made.con.execute(text)
    made.con.session.spending.statement = Limits(rows=4999)
    for run in (made.con.execute, made.con.sql):
        with pytest.raises(SpendingError, match="this would ask about 5,000 rows"):
            run(query).fetchall()
    assert made.asked == (0, 0)
    made.con.session.spending.statement = Limits()
    made.rows(query)
    assert made.asked == (5000, 1)


@pytest.mark.parametrize("is_registered", [False, True])
def test_so_is_a_view_of_a_relation(is_registered: bool) -> None:
    made = make(tables=False)
    relation = made.con.sql(MANY)
    made.con.register("v", relation) if is_registered else relation.create_view("v")
    made.con.session.spending.statement = Limits(rows=4999)
    with pytest.raises(SpendingError, match="this would ask about 5,000 rows"):
        made.con.sql("FROM v").fetchall()


def test_statements_that_two_cursors_prepared_under_one_name_are_two() -> None:
    made = make(tables=False)
    other = made.con.cursor()
    made.con.execute("PREPARE p AS SELECT llm('n {}', i) FROM range(5000) t(i)")
    other.execute("PREPARE p AS SELECT 1")
    made.con.session.spending.statement = Limits(rows=4999)
    assert other.execute("EXECUTE p").fetchall() == [(1,)]
    with pytest.raises(SpendingError, match="this would ask about 5,000 rows"):
        made.con.execute("EXECUTE p")


def test_caps_of_a_statement_that_another_cursor_has_prepared_otherwise_are_seen() -> None:
    made = make(tables=False)
    with made.con.cursor() as other:
        made.con.execute("PREPARE p AS SELECT llm('n {}', i, max_rows := 9) FROM range(5000) t(i)")
        other.execute("PREPARE p AS SELECT llm('n {}', i) FROM range(5000) t(i)")
        other.execute("PREPARE another AS SELECT llm('n {}', 1)")
        with pytest.raises(SpendingError, match="this would ask about 5,000 rows"):
            made.con.execute("EXECUTE p")
        assert made.con._indirect_calls.mentions("EXECUTE another")
    assert not made.con._indirect_calls.mentions("EXECUTE another"), "it is gone with its cursor"


def test_a_prepared_statement_reads_the_variable_of_its_time() -> None:
    made = make(tables=False)

    def prepare() -> None:
        rows_of = pa.table({"x": ["mine"]})  # noqa: F841 (DuckDB finds it by name)
        made.con.execute("PREPARE p AS SELECT llm('n {}', x) FROM rows_of")

    def run() -> list[tuple[str]]:
        rows_of = pa.table({"x": ["another"] * 9})  # noqa: F841
        return list(made.con.execute("EXECUTE p").fetchall())

    prepare()
    assert len(run()) == 1
    assert [prompt for each in made.engine.submissions for prompt in each.prompts] == ["n mine"]
