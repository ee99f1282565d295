"""Relations and lazy frames come back with the answers as one more column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest
from frames_fixtures import echoing

import relserve
from relserve.engines.scripted import ScriptedEngine, echo
from relserve.errors import OptionError, TemplateError, UsageError

ROWS = """
    SELECT * FROM (VALUES (1, 'good', {'a': 1}), (2, 'bad', NULL), (3, NULL, {'a': 3})) t(id, review, part)
"""


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine(echo)


@pytest.fixture
def con(engine: ScriptedEngine) -> Iterator[relserve.Connection]:
    with relserve.connect(engine=engine, progress=False) as con:
        yield con


def test_a_relation_of_ours_stays_lazy_and_chains(con: Any, engine: ScriptedEngine) -> None:
    rated = relserve.llm(con.sql(ROWS), "Rate {review}", name="rating")
    assert rated.columns == ["id", "review", "part", "rating"]
    kept = relserve.llm_filter(rated.filter("id < 3"), "{rating}?").filter("llm_filter").order("id")
    assert engine.submissions == []
    assert rated.order("id").project("rating").fetchall() == [("Rate good",), ("Rate bad",), (None,)]
    assert len(engine.submissions) == 1
    assert kept.fetchall() == []  # an echo is neither yes nor no
    assert [e["kind"] for e in con.sql("SELECT kind FROM llm_errors()").to_dicts()] == ["unparsable"] * 2


def test_options_and_odd_names_reach_sql(con: Any, engine: ScriptedEngine) -> None:
    source = con.sql("""SELECT 'x' AS "it's ""odd\"""")
    rated = relserve.llm(
        source, "{}'s", columns=["it's \"odd"], max_tokens=5, temperature=0.5, stop=["'", "b"], system="it's"
    )
    assert rated.project("llm").fetchall() == [("x's",)]
    (asked,) = engine.submissions
    sampling = asked.sampling
    assert (sampling.max_tokens, sampling.temperature, sampling.stop) == (5, 0.5, ("'", "b"))
    assert asked.system == "it's"


def test_a_struct_is_a_value_and_more_columns_than_sql_takes(con: Any) -> None:
    rated = relserve.llm(con.sql(ROWS).filter("id = 1"), "{part}", name="said")
    assert rated.project("said").fetchall() == [('{"a": 1}',)]
    wide = con.sql("SELECT " + ", ".join(f"{i} AS c{i}" for i in range(12)))
    template = "".join(f"{{c{i}}}" for i in range(12))
    assert relserve.llm(wide, template).project("llm").fetchall() == [("01234567891011",)]


def test_a_plain_relation_is_answered_and_stays_on_its_connection() -> None:
    plain = duckdb.connect()
    relation = plain.sql(ROWS)
    rated = relserve.llm(relation, "Rate {review}", engine=echoing(), name="rating")
    assert isinstance(rated, duckdb.DuckDBPyRelation)
    assert rated.project("id, rating").fetchall() == [(1, "Rate good"), (2, "Rate bad"), (3, None)]
    other = plain.sql("SELECT 1 AS id, 'first' AS which")
    assert rated.join(other, "id").project("rating, which").fetchall() == [("Rate good", "first")]
    assert plain.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() == []


@pytest.mark.parametrize("ours", [True, False])
def test_mistakes_on_relations(con: Any, ours: bool) -> None:
    relation = con.sql(ROWS) if ours else duckdb.connect().sql(ROWS)
    with pytest.raises(TemplateError, match="Did you mean 'review'"):
        relserve.llm(relation, "{reviw}")
    with pytest.raises(UsageError, match="has a column 'ID' already"):
        relserve.llm(relation, "{review}", name="ID")
    with pytest.raises(OptionError, match="no option 'lo'"):
        relserve.llm(relation, "{review}", lo=1)
    if ours:
        with pytest.raises(UsageError, match=r"belong to the relation's connection: relserve.connect"):
            relserve.llm(relation, "{review}", engine=echoing())
        with pytest.raises(UsageError, match=r"cache= belong to the relation's connection"):
            relserve.llm(relation, "{review}", cache=False)
        assert relserve.llm(relation, "{review}", cache=True).columns[-1] == "llm"


def test_a_lazy_frame_asks_when_it_is_collected(engine: ScriptedEngine) -> None:
    lazy = pl.LazyFrame({"id": [1, 2, 3], "review": ["good", "bad", None]})
    rated = relserve.llm(lazy, "Rate {review}", engine=engine)
    assert rated.collect_schema().names() == ["id", "review", "llm"]
    assert engine.submissions == []
    assert rated.collect()["llm"].to_list() == ["Rate good", "Rate bad", None]
    assert rated.filter(pl.col("llm") == "Rate bad").select("id").collect().to_dicts() == [{"id": 2}]
    first = relserve.llm(lazy.head(1), "{review}!", engine=engine).collect()
    assert first["llm"].to_list() == ["good!"]
    assert list(engine.submissions[-1].prompts) == ["good!"]


def test_columns_may_be_a_generator(con: Any, engine: ScriptedEngine) -> None:
    lazy = pl.LazyFrame({"id": [1], "review": ["good"]})
    plain = duckdb.connect().sql(ROWS).filter("id = 1")
    for data in (lazy, plain):
        rated = relserve.llm(data, "{}!", columns=(name for name in ["review"]), engine=engine)
        table = rated.collect() if data is lazy else rated.pl()
        assert table["llm"].to_list() == ["good!"]


def test_a_lazy_frame_asks_for_no_pushdown_whatever_the_release_has_as_default(
    monkeypatch: pytest.MonkeyPatch, engine: ScriptedEngine
) -> None:
    asked: dict[str, Any] = {}
    mapped = pl.LazyFrame.map_batches

    def spy(self: pl.LazyFrame, function: Any, **options: Any) -> pl.LazyFrame:
        asked.update(options)
        everywhere = dict.fromkeys(("predicate_pushdown", "projection_pushdown", "slice_pushdown"), True)
        return mapped(self, function, **{**everywhere, **options})

    monkeypatch.setattr(pl.LazyFrame, "map_batches", spy)
    lazy = pl.LazyFrame({"id": [1, 2], "review": ["good", "bad"]})
    rated = relserve.llm(lazy, "Rate {review}", engine=engine)
    assert rated.select("id").collect().to_dicts() == [{"id": 1}, {"id": 2}]
    assert rated.filter(pl.col("llm") == "Rate bad").select("id").collect().to_dicts() == [{"id": 2}]
    assert asked["slice_pushdown"] is False


def test_lazy_frames_have_the_types_that_they_say() -> None:
    lazy = pl.LazyFrame({"review": ["good", None]})
    for function in (relserve.llm, relserve.llm_filter, relserve.llm_score):
        rated = function(lazy, "{review}", engine=ScriptedEngine())
        assert rated.collect().schema == rated.collect_schema()


def test_mistakes_on_lazy_frames() -> None:
    lazy = pl.LazyFrame({"review": ["good"]})
    with pytest.raises(TemplateError, match="Did you mean 'review'"):
        relserve.llm(lazy, "{reviw}")
    with pytest.raises(UsageError, match="has a column 'review' already"):
        relserve.llm(lazy, "{review}", name="review")


def test_a_frame_from_a_relation(con: Any) -> None:
    frame = con.sql(ROWS).df()
    assert isinstance(frame, pd.DataFrame)
    assert relserve.llm(frame, "{review}", engine=echoing())[0] == "good"
