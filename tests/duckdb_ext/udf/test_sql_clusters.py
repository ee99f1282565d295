"""llm_cluster and llm_topics in SQL: rows of similar meaning together, named, and the same again."""

from __future__ import annotations

import sys

import pytest

import relserve
from relserve.call.relquery import Submission
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import UsageError

MAILS = (
    "(1, 'where is my shipment?'), (2, 'how do I reset the password'), (3, NULL), (4, 'where is my parcel?'),"
    "(5, 'the parcel came late'), (6, 'my password is wrong'), (7, 'the password was lost'), (8, ''),"
    "(9, 'the password was lost'), (10, 'a late parcel')"
)
PASSWORDS, PARCELS = {2, 6, 7, 9}, {1, 4, 5, 10}


def named(prompt: str, submission: Submission) -> str:
    """What the texts of a cluster are about; of one text, itself."""
    if prompt.startswith("Sum up what these texts have in common"):
        return "password" if "password" in prompt else "parcel"
    return prompt.removeprefix("Summarise in one sentence: ")


@pytest.fixture
def con() -> relserve.Connection:
    con = relserve.connect(engine=ScriptedEngine(script=named), cache=False, progress=False)
    con.execute(f"CREATE TABLE mails AS FROM (VALUES {MAILS}) t(id, body)")
    con.execute("CREATE TABLE mixed AS FROM mails ORDER BY id DESC")
    return con


def _sets(rows: list[tuple[int, object]]) -> dict[object, set[int]]:
    found: dict[object, set[int]] = {}
    for number, cluster in rows:
        found.setdefault(cluster, set()).add(number)
    return found


@pytest.mark.cells(1)
@pytest.mark.parametrize("k", ["2", "NULL"])
def test_rows_of_similar_meaning_are_together(con: relserve.Connection, k: str) -> None:
    rows = con.sql(f"SELECT id, cluster FROM llm_cluster('mails', body, k := {k})").fetchall()
    assert sorted(map(sorted, _sets(rows).values())) == sorted(map(sorted, (PASSWORDS, PARCELS, {3, 8})))
    assert _sets(rows)[None] == {3, 8}
    again = con.sql(f"SELECT id, cluster FROM llm_cluster('mixed', body, k := {k})").fetchall()
    assert sorted(again) == sorted(rows)


def test_vectors_are_clustered_as_they_are(con: relserve.Connection) -> None:
    con.execute("CREATE TABLE vectors AS SELECT id, llm_embed(body)::FLOAT[256] AS v FROM mails")
    rows = con.sql("SELECT id, cluster FROM llm_cluster('vectors', v, k := 2)").fetchall()
    assert {frozenset(ids) for ids in _sets(rows).values()} == {
        frozenset(PASSWORDS), frozenset(PARCELS), frozenset({3, 8})
    }  # fmt: skip


@pytest.mark.cells(1)
@pytest.mark.parametrize("about", ["", ", about := NULL"])
def test_topics_are_named_by_the_model(con: relserve.Connection, about: str) -> None:
    rows = con.sql(f"SELECT id, topic FROM llm_topics('mails', body, k := 2{about})").fetchall()
    assert _sets(rows) == {"password": PASSWORDS, "parcel": PARCELS, None: {3, 8}}
    asked = con.sql("SELECT function, distinct_prompts FROM llm_queries() ORDER BY ALL").fetchall()
    summaries = [] if about else [("llm", 8)]
    assert asked == [*summaries, ("llm_agg", 2), ("llm_embed", 8)]


def test_a_table_without_texts_has_no_clusters(con: relserve.Connection) -> None:
    con.execute("CREATE TABLE none AS FROM mails WHERE body IS NULL")
    assert con.sql("SELECT id, cluster FROM llm_cluster('none', body)").fetchall() == [(3, None)]


def test_without_scikit_learn_it_says_what_to_install(
    con: relserve.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    with pytest.raises(UsageError, match=r"pip install 'relserve\[embed\]'"):
        con.sql("FROM llm_cluster('mails', body)").fetchall()
