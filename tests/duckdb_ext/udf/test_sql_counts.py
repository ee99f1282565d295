"""Numbers of rows that are none, in the table macros: told by the function's name; NULLs and empty tables."""

from __future__ import annotations

import pytest

import relserve
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import OptionError

SIMILAR = "FROM llm_similar('{}', body, 'a parcel', k := {})"
CALLS = {
    "llm_similar(): k": SIMILAR,
    "llm_sim_join(): k": "FROM llm_sim_join('{}', body, 'mails', body, k := {})",
    "llm_rerank(): k": "FROM llm_rerank('{}', body, 'a parcel', k := {})",
    "llm_rerank(): among": "FROM llm_rerank('{}', body, 'a parcel', among := {})",
    "llm_cluster(): k": "FROM llm_cluster('{}', body, k := {})",
    "llm_topics(): k": "FROM llm_topics('{}', body, k := {})",
}
TOP = "FROM llm_top('{}', 'Which is more urgent? {{}}', body, k := {})"
WRONG = ["0", "-1", "1.5", "'two'"]
DEDUP = "FROM llm_dedup('{}', body, similarity := {})"


@pytest.fixture
def con() -> relserve.Connection:
    con = relserve.connect(engine=ScriptedEngine(), cache=False, progress=False)
    con.execute("CREATE TABLE mails AS FROM (VALUES (1, 'a parcel'), (2, NULL), (3, 'lost')) t(id, body)")
    con.execute("CREATE TABLE none AS FROM mails WHERE false")
    con.execute("CREATE TABLE nulls AS SELECT id, NULL::VARCHAR AS body FROM mails")
    return con


@pytest.mark.cells(1)
@pytest.mark.parametrize("told", CALLS)
def test_a_wrong_number_of_rows_is_told(con: relserve.Connection, told: str) -> None:
    for given in WRONG:
        with pytest.raises(OptionError) as error:
            con.sql(CALLS[told].format("mails", given)).fetchall()
        assert f"{told} must be a whole number" in str(error.value)
        assert str(error.value).endswith(f"not {given.strip(chr(39))}")
    asked = con.sql("SELECT function FROM llm_queries() WHERE function <> 'llm_embed'").fetchall()
    assert asked == [], "it is told before the model is asked"


def test_a_wrong_number_of_ranks_is_told(con: relserve.Connection) -> None:
    for given in WRONG:
        with pytest.raises(OptionError, match="k must be"):
            con.sql(TOP.format("mails", given)).fetchall()


@pytest.mark.long
def test_no_number_is_all_rows_but_of_partners(con: relserve.Connection) -> None:
    for told, call in CALLS.items():
        if "join" not in told:
            assert len(con.sql(call.format("mails", "NULL")).fetchall()) == 3
    assert len(con.sql(TOP.format("mails", "NULL")).fetchall()) == 2, "a NULL has no rank"
    with pytest.raises(OptionError, match="from 1 to 999999, not NULL"):
        con.sql(CALLS["llm_sim_join(): k"].format("mails", "NULL")).fetchall()
    with pytest.raises(OptionError, match=r"similarity must be a number such as 0\.95, not NULL"):
        con.sql(DEDUP.format("mails", "NULL")).fetchall()


@pytest.mark.cells(2)
@pytest.mark.parametrize("call", [*CALLS.values(), TOP])
def test_an_empty_table_gives_no_rows(con: relserve.Connection, call: str) -> None:
    assert con.sql(call.format("none", "2")).fetchall() == []


def test_rows_of_nulls_have_no_similarity_and_no_cluster(con: relserve.Connection) -> None:
    assert con.sql(SIMILAR.format("nulls", "9")).fetchall() == [(i, None, None) for i in (1, 2, 3)]
    clusters = con.sql("SELECT cluster FROM llm_cluster('nulls', body)").fetchall()
    assert clusters == [(None,)] * 3
    assert len(con.sql(DEDUP.format("nulls", "0.9")).fetchall()) == 3
    assert con.sql(TOP.format("nulls", "2")).fetchall() == []


def test_a_null_that_is_searched_for_is_similar_to_nothing(con: relserve.Connection) -> None:
    rows = con.sql("SELECT similarity FROM llm_similar('mails', body, NULL)").fetchall()
    assert rows == [(None,)] * 3
