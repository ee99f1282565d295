"""Joins, ranks and clusters on the embedded model, whose answers may be wrong and must still fit together."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from relserve.api import Connection, connect
from relserve.engines.local.engine import LocalEngine

pytestmark = [pytest.mark.vllm, pytest.mark.long, pytest.mark.timeout(900)]

TEXTS = [
    "the parcel came late", "where is my shipment", "the card was charged twice", "a wrong bill",
    "the screen is broken", "the app crashes", "I forgot my password", "my account is locked",
]  # fmt: skip
KINDS = ["shipping", "billing", "technical problem", "account"]
NUM_A, NUM_B = 52, 4
JOIN = "llm_filter('Is this ticket {{ticket}} about {{kind}}?', x, y, join := '{}')"


@pytest.fixture(scope="module")
def con(shared_engine: LocalEngine) -> Iterator[Connection]:
    """Tickets and kinds, of which the pairs are too many to be asked all, and a NULL on either side."""
    with connect(engine=shared_engine, progress=False, cache=False) as con:
        rows = ", ".join(f"({i}, '{TEXTS[i % len(TEXTS)]}, order {i}')" for i in range(NUM_A))
        kinds = ", ".join(f"({j}, '{kind}')" for j, kind in enumerate(KINDS))
        con.execute(f"CREATE TABLE a AS FROM (VALUES {rows}, (-1, NULL)) t(i, x)")
        con.execute(f"CREATE TABLE b AS FROM (VALUES {kinds}, (-1, NULL)) t(j, y)")
        yield con


@pytest.fixture(scope="module")
def pairs(con: Connection) -> set[tuple[int, int]]:
    """What the model says about single pairs."""
    return set(con.sql(f"SELECT i, j FROM a JOIN b ON {JOIN.format('pairs')}").fetchall())


@pytest.mark.parametrize("strategy", ["classify", "blocks", "candidates", "auto"])
def test_a_join_is_that_of_pairs_or_agrees_with_it(
    con: Connection, pairs: set[tuple[int, int]], strategy: str
) -> None:
    rows = con.sql(f"SELECT i, j FROM a JOIN b ON {JOIN.format(strategy)}").fetchall()
    found = set(rows)
    assert len(found) == len(rows)
    assert not [pair for pair in found if -1 in pair], "a NULL matches nothing"
    query = "SELECT join_plan FROM llm_queries() WHERE function = 'llm_filter'"
    plan = str(con.sql(query).fetchall()[-1][0])
    if "pairs, all asked" in plan:
        assert found == pairs
    else:
        assert "F1 against pairs about " in plan
        assert 2 * len(found & pairs) / max(1, len(found) + len(pairs)) > 0.8
    assert con.sql("FROM llm_errors()").fetchall() == []


def test_outer_and_anti_joins_have_the_rows_that_are_left(con: Connection) -> None:
    """Of one statement, for which each pair has one answer."""
    said = JOIN.format("classify")
    sql = """WITH said AS MATERIALIZED (SELECT i, j, {} AS yes FROM a, b)
        SELECT (SELECT count(*) FROM a LEFT JOIN b ON {}), (SELECT count(*) FROM a ANTI JOIN b ON {}),
            (SELECT count(*) FROM said WHERE yes), (SELECT count(DISTINCT i) FROM said WHERE yes),
            (SELECT count(*) FROM said WHERE yes IS NULL)"""
    ((left, anti, matches, matched, null),) = con.sql(sql.format(said, said, said)).fetchall()
    assert anti == NUM_A + 1 - matched
    assert left == matches + anti
    assert null == NUM_A + NUM_B + 1


def test_a_rank_is_an_order_of_all_values(con: Connection) -> None:
    ask = "'Which of these is more urgent? {}'"
    ((ranked,),) = con.sql(f"SELECT llm_rank({ask}, x) FROM a WHERE i < 12").fetchall()
    values = [row[0] for row in con.sql("SELECT x FROM a WHERE i BETWEEN 0 AND 11").fetchall()]
    assert sorted(ranked) == sorted(values)
    con.execute("CREATE OR REPLACE TABLE urgent AS FROM a WHERE i < 12")
    top = con.sql(f"SELECT x, rank FROM llm_top('urgent', {ask}, x, k := 3)").fetchall()
    assert [row[1] for row in top] == [1, 2, 3]
    assert {row[0] for row in top} <= set(values)
    again = con.sql(f"SELECT x, rank FROM llm_top('urgent', {ask}, x, k := 3)").fetchall()
    assert again == top


def test_reranked_rows_stand_in_the_order_of_their_relevance(con: Connection) -> None:
    call = "llm_rerank('a', x, 'a late parcel', k := 5, among := 10)"
    rows = con.sql(f"SELECT i, relevance FROM {call}").fetchall()
    assert len({row[0] for row in rows}) == 5
    assert all(0 <= row[1] <= 1 for row in rows)
    assert [row[1] for row in rows] == sorted((row[1] for row in rows), reverse=True)


def test_clusters_and_topics_hold_each_row_once(con: Connection) -> None:
    rows = con.sql("SELECT i, cluster FROM llm_cluster('a', x, k := 4)").fetchall()
    assert sorted(row[0] for row in rows) == list(range(-1, NUM_A))
    assert {row[1] for row in rows} == {None, 1, 2, 3, 4}
    assert dict(rows)[-1] is None
    assert sorted(con.sql("SELECT i, cluster FROM llm_cluster('a', x, k := 4)").fetchall()) == sorted(rows)
    call = "llm_topics('a', x, k := 3, about := NULL)"
    topics = con.sql(f"SELECT DISTINCT cluster, topic FROM {call}").fetchall()
    assert len(topics) == 4
    assert all((number is None) == (topic is None) for number, topic in topics)
