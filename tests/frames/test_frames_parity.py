"""A dataframe call says what SQL says on the same rows, row by row, in every library."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from frames_fixtures import connected, echoing, in_sql, listed, odd_table

import relserve
from relserve.engines.scripted import ScriptedEngine

NUM_ROWS = 6000
MAKERS: dict[str, Callable[[pa.Table], Any]] = {
    "pandas": lambda table: table.to_pandas(),
    "pandas, objects": lambda table: table.to_pandas().astype({"review": object}),
    "pandas, Arrow types": lambda table: table.to_pandas(types_mapper=_pandas_arrow),
    "polars": pl.from_arrow,
    "pyarrow": lambda table: table,
    "pyarrow, chunks": lambda table: pa.concat_tables([table.slice(0, 4001), table.slice(4001)]),
}
CALLS: dict[str, tuple[Any, ...]] = {
    "llm('Rate {review}', review)": (relserve.llm, "Rate {review}", {}),
    "llm('{}/{}', stars, review)": (relserve.llm, "{}/{}", dict(columns=["stars", "review"])),
    "llm('{price} {stars} {price}', price, stars)": (relserve.llm, "{price} {stars} {price}", {}),
    "llm_filter('Good? {review}', review)": (relserve.llm_filter, "Good? {review}", {}),
    "llm_score('How good is {review}?', review, lo := 1, hi := 5)": (
        relserve.llm_score, "How good is {review}?", dict(lo=1, hi=5),
    ),
    "llm_classify('{id} {review}', id, review, choices := ['a', 'b c', 'd''é'])": (
        relserve.llm_classify, "{id} {review}", dict(choices=["a", "b c", "d'é"]),
    ),
}  # fmt: skip


def _pandas_arrow(kind: pa.DataType) -> Any:
    import pandas

    return pandas.ArrowDtype(kind)


# whose data reads the same: pandas has whole numbers with NULLs as floats, unless in Arrow's types
SQL_OVER = {"pandas, objects": "pandas", "pandas, Arrow types": "pyarrow", "pyarrow, chunks": "pyarrow"}
OF_EVERY_KIND = "llm('{}/{}', stars, review)"
SQL_AND_LIBRARY = [
    pytest.param(
        sql, library, marks=[pytest.mark.long] if library in SQL_OVER and sql != OF_EVERY_KIND else []
    )
    for sql in CALLS
    for library in MAKERS
]


@cache
def _table() -> pa.Table:
    return odd_table(NUM_ROWS)


@cache
def _made(library: str) -> Any:
    return MAKERS[library](_table())


@cache
def _said_in_sql(library: str, sql: str) -> tuple[list[Any], ScriptedEngine]:
    engine = ScriptedEngine()
    with connected(engine) as con:
        return in_sql(con, _made(library), sql), engine


@pytest.fixture
def table() -> pa.Table:
    return _table()


@pytest.mark.cells(5)
@pytest.mark.parametrize(("sql", "library"), SQL_AND_LIBRARY)
def test_the_same_as_in_sql(sql: str, library: str) -> None:
    function, template, options = CALLS[sql]
    engine = ScriptedEngine()
    said, sql_engine = _said_in_sql(SQL_OVER.get(library, library), sql)
    assert listed(function(_made(library), template, engine=engine, **options)) == said
    assert sum(answer is None for answer in said) >= 3 * NUM_ROWS // 100 or "id" in sql
    assert len(said) == NUM_ROWS
    (submission,) = engine.submissions
    assert set(submission.prompts) == {p for each in sql_engine.submissions for p in each.prompts}
    assert submission.sampling == sql_engine.submissions[0].sampling


def test_prompts_go_out_sorted(table: pa.Table) -> None:
    engine = echoing()
    relserve.llm(table.slice(0, 5000), "{stars} {review}", engine=engine)
    pairs = dict.fromkeys(
        zip(*(table[c].slice(0, 5000).to_pylist() for c in ("stars", "review")), strict=True)
    )
    prompts = sorted(f"{s} {r}" for s, r in pairs if None not in (s, r))
    assert list(engine.submissions[0].prompts) == prompts


def test_the_record_counts_rows_as_sql_does(table: pa.Table) -> None:
    small = table.slice(0, 1000)
    relserve.llm(small, "count {review}", engine=echoing())
    ours = relserve.llm_queries().to_pylist()[-1]
    with relserve.connect(engine=echoing(), progress=False) as con:
        con.execute("SELECT llm('count {review}', review) FROM small").fetchall()
        columns = "rows, distinct_prompts, null_rows, answered, function, template, state"
        (theirs,) = con.sql(f"SELECT {columns} FROM llm_queries()").to_arrow_table().to_pylist()
    assert {name: ours[name] for name in theirs} == theirs
