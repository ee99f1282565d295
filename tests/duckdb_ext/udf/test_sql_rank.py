"""llm_rank, llm_top and llm_rerank in SQL: orders of groups and of rows, by a model that compares numbers."""

from __future__ import annotations

import pytest
from sql_fixtures import Made, make

import relserve
from relserve.call.relquery import Submission
from relserve.engines.scripted import ScriptedEngine, by_hash
from relserve.errors import OptionError, UsageError

RANK = "llm_rank('Which is larger? {}', v"


def larger(prompt: str, submission: Submission) -> str:
    """Which of two numbers is larger; anything else by its hash."""
    if not prompt.startswith("Answer with exactly one of: 1, 2.\nWhich is larger? \n"):
        return by_hash(prompt, submission)
    first, second = (float(line.partition(". ")[2]) for line in prompt.splitlines()[-2:])
    return "1" if first > second else "2"


@pytest.fixture
def made() -> Made:
    made = make(tables=False, script=larger)
    made.con.execute("CREATE TABLE n AS SELECT i AS id, i * 7919 % 503 AS v, i % 3 AS g FROM range(200) t(i)")
    made.con.execute("INSERT INTO n VALUES (1000, NULL, 3)")
    return made


def test_the_first_values_of_each_group(made: Made) -> None:
    expected = made.rows(
        "SELECT g, list(v::VARCHAR ORDER BY v DESC) FILTER (v IS NOT NULL)[:4] FROM n GROUP BY g ORDER BY g"
    )
    assert made.rows(f"SELECT g, {RANK}, k := 4) FROM n GROUP BY g ORDER BY g") == expected


def test_over_and_filter(made: Made) -> None:
    place = f"list_position({RANK}) OVER (PARTITION BY g), v::VARCHAR)"
    assert made.rows(f"SELECT id, {place} FROM n WHERE id < 9 ORDER BY id") == made.rows(
        "SELECT id, rank() OVER (PARTITION BY g ORDER BY v DESC)::INT FROM n WHERE id < 9 ORDER BY id"
    )
    assert made.rows(f"SELECT {RANK}) FILTER (v < 0), {RANK}) FILTER (id < 2) FROM n") == [
        (None, ["374", "0"])
    ]


def test_the_first_rows_of_a_table(made: Made) -> None:
    made.con.execute("INSERT INTO n VALUES (2000, (SELECT max(v) FROM n), 0)")
    expected = made.rows("SELECT id, v, g, dense_rank() OVER (ORDER BY v DESC) AS r FROM n QUALIFY r <= 5")
    found = made.rows("FROM llm_top('n', 'Which is larger? {}', v, k := 5)")
    assert sorted(found) == sorted(expected)
    assert len(found) == 6  # two have one value, and one rank
    assert [row[3] for row in found] == sorted(row[3] for row in found)


def test_a_table_may_have_the_columns_that_are_added(made: Made) -> None:
    made.con.execute("CREATE TABLE ranked AS SELECT v, -v AS rank FROM n")
    found = made.rows("FROM llm_top('ranked', 'Which is larger? {}', v, k := 2)")
    assert [row[2] for row in found] == [1, 2]
    assert [row[0] for row in found] == [-row[1] for row in found]


def test_equal_questions_have_kept_answers(made: Made) -> None:
    first = made.rows(f"SELECT {RANK}, k := 3) FROM n")
    made.con.execute("CREATE TABLE m AS FROM n ORDER BY id DESC")
    assert made.rows(f"SELECT {RANK}, k := 3) FROM m") == first
    asked = made.rows("SELECT distinct_prompts FROM llm_queries()")
    assert asked[0] == asked[1]  # the same pairs, whatever the order of the rows


def test_explain_tells_about_how_many_pairs_there_are(made: Made) -> None:
    sql = f"SELECT g, {RANK}, k := 4) FROM n GROUP BY g"
    (call,) = made.con.explain_llm(sql).calls
    made.rows(sql)
    ((asked,),) = made.rows("SELECT distinct_prompts FROM llm_queries()")
    assert call.estimate.num_distinct == pytest.approx(asked, rel=0.2)


def test_candidates_by_similarity_are_ordered_by_relevance() -> None:
    con = relserve.connect(engine=ScriptedEngine(), cache=False, progress=False)
    con.execute("""CREATE TABLE mails AS FROM (VALUES (1, 'where is my shipment?'),
        (2, 'how do I reset the password'), (3, NULL), (4, 'the parcel came late')) t(id, body)""")
    call = "FROM llm_rerank('mails', body, 'my parcel has not arrived', among := 2)"
    found = con.sql(f"SELECT id, similarity, relevance {call}").fetchall()
    assert {row[0] for row in found} == {1, 4}
    again = call.replace("'mails'", "'near'")
    con.execute("CREATE TABLE near AS SELECT *, 0.0 AS similarity, 1 AS relevance FROM mails")
    assert con.sql(f"SELECT id {again}").fetchall() == [(row[0],) for row in found]
    assert [row[2] for row in found] == sorted((row[2] for row in found), reverse=True)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("llm_rank('Which? {}', v, id)", UsageError),
        ("llm_rank('Which?', v)", UsageError),
        ("llm_rank('Which? {}', v, k := 0)", OptionError),
        ("llm_rank('Which? {}', v, stop := ['x'])", OptionError),
    ],
)
def test_wrong_calls_are_told_before_anything_is_asked(made: Made, call: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        made.con.sql(f"SELECT {call} FROM n").fetchall()
    assert made.rows("FROM llm_queries()") == []
