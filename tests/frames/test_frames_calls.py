"""How a dataframe call is made: columns, options, results, and what is said of mistakes."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from frames_fixtures import echoing, listed

import relserve
from relserve.call.options import FUNCTIONS, ROW_FUNCTIONS
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import ModelError, OptionError, RowError, TemplateError, UsageError

REVIEWS = pd.DataFrame(
    {"review": ["good", "bad", None, "good"], "product": ["a", "b", "c", "a"], "n": range(4)}
)


def say(data: Any, template: str, **options: Any) -> list[Any]:
    return listed(relserve.llm(data, template, engine=echoing(), **options))


def test_named_placeholders_are_columns() -> None:
    assert say(REVIEWS, "{review} of {product}") == ["good of a", "bad of b", None, "good of a"]


def test_columns_are_taken_in_order() -> None:
    assert say(REVIEWS, "{} {}", columns=["product", "n"]) == ["a 0", "b 1", "c 2", "a 3"]
    assert say(REVIEWS, "{x} {y} {x}", columns=["product", "n"]) == ["a 0 a", "b 1 b", "c 2 c", "a 3 a"]
    assert say(REVIEWS, "{}", columns="product") == ["a", "b", "c", "a"]


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([7, 7, 3, 3]), pd.Index(["d", "c", "b", "a"], name="key"),
        pd.MultiIndex.from_product([["x", "y"], [1, 2]], names=["k", "l"]),
        pd.date_range("2024", periods=4),
    ],
)  # fmt: skip
def test_a_pandas_result_has_the_index_of_the_frame(index: pd.Index) -> None:
    frame = REVIEWS.set_index(index)
    column = relserve.llm(frame, "{review}", engine=echoing())
    assert column.index.equals(index)
    assert column.index.names == index.names
    assert listed(column) == ["good", "bad", None, "good"]
    assert listed(relserve.llm(frame["review"], "{}", engine=echoing())) == ["good", "bad", None, "good"]


def test_types_and_names_of_pandas_results() -> None:
    engine = ScriptedEngine()
    text = relserve.llm(REVIEWS, "{review}", engine=engine)
    mask = relserve.llm_filter(REVIEWS, "{review}", engine=engine, name="is_good")
    score = relserve.llm_score(REVIEWS, "{review}", engine=engine)
    assert (text.name, mask.name, score.name) == ("llm", "is_good", "llm_score")
    assert pd.api.types.is_string_dtype(text.dtype)
    assert (str(mask.dtype), str(score.dtype)) == ("boolean", "float64")
    assert (mask.isna().tolist(), score.isna().tolist()) == ([False, False, True, False],) * 2


def test_a_filter_is_a_mask_that_drops_null() -> None:
    engine = ScriptedEngine(lambda prompt, s: "yes" if "good" in prompt else "no")
    mask = relserve.llm_filter(REVIEWS, "{review}?", engine=engine)
    assert REVIEWS[mask]["n"].tolist() == [0, 3]
    assert REVIEWS.loc[mask, "n"].tolist() == [0, 3]
    assert REVIEWS[~mask]["n"].tolist() == [1]
    frame = pl.from_pandas(REVIEWS)
    assert frame.filter(relserve.llm_filter(frame, "{review}?", engine=engine))["n"].to_list() == [0, 3]
    table = pa.Table.from_pandas(REVIEWS)
    assert table.filter(relserve.llm_filter(table, "{review}?", engine=engine))["n"].to_pylist() == [0, 3]


def test_calls_chain() -> None:
    assert listed(REVIEWS.pipe(relserve.llm, "{review}", engine=echoing()))[0] == "good"
    assigned = REVIEWS.assign(said=lambda frame: relserve.llm(frame, "{n}", engine=echoing()))
    assert assigned["said"].tolist() == ["0", "1", "2", "3"]
    frame = pl.from_pandas(REVIEWS)
    said = frame.with_columns(relserve.llm(frame, "{n}", engine=echoing(), name="said"))["said"]
    assert said.to_list() == ["0", "1", "2", "3"]
    table = pa.Table.from_pandas(REVIEWS)
    column = relserve.llm(table, "{n}", engine=echoing())
    assert table.append_column("said", column).column("said").to_pylist() == ["0", "1", "2", "3"]


def test_every_kind_of_arrow_data_gives_its_own_kind() -> None:
    table = pa.table({"v": ["a", None]})
    batch, array = table.to_batches()[0], pa.array(["a", None])
    results = [relserve.llm(each, "{}", engine=echoing()) for each in (table, batch, array, table["v"])]
    assert [type(each) for each in results] == [
        pa.ChunkedArray,
        pa.StringArray,
        pa.StringArray,
        pa.ChunkedArray,
    ]
    assert all(each.to_pylist() == ["a", None] for each in results)


def test_whatever_streams_arrow_is_a_table() -> None:
    class Other:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return pa.table({"v": ["a"]}).__arrow_c_stream__(requested_schema)

    assert relserve.llm(Other(), "{v}", engine=echoing()).to_pylist() == ["a"]


@pytest.mark.parametrize(
    "data", [REVIEWS[:0], pl.from_pandas(REVIEWS)[:0], pa.Table.from_pandas(REVIEWS)[:0]]
)
def test_an_empty_frame_gives_an_empty_column_and_asks_nothing(data: Any) -> None:
    engine = ScriptedEngine()
    assert len(relserve.llm(data, "{review} {product}", engine=engine)) == 0
    assert len(relserve.llm_filter(data, "{n}", engine=engine)) == 0
    assert engine.submissions == []


def test_names_that_are_no_text_and_names_in_other_case() -> None:
    frame = pd.DataFrame([[1, 2, 3]], columns=[0, ("a", "b"), "Review"])
    assert say(frame, "{0} {review}") == ["1 3"]
    assert say(frame, "{('a', 'b')}") == ["2"]
    assert say(frame, "{}", columns=[("a", "b")]) == ["2"]
    both = pd.DataFrame([[1, 2]], columns=["a", "A"])
    assert say(both, "{a} {A}") == ["1 2"]


def test_only_columns_in_use_are_read() -> None:
    class Unreadable:
        def __str__(self) -> str:
            raise AssertionError("read")

    frame = pd.DataFrame({"a": [1], "never": [Unreadable()]})
    assert say(frame, "{a}") == ["1"]
    with pytest.raises(AssertionError, match="read"):
        say(frame, "{never}")


def test_equal_rows_are_asked_once() -> None:
    engine = echoing()
    relserve.llm(pd.concat([REVIEWS] * 100), "{review} {product}", engine=engine)
    assert list(engine.submissions[0].prompts) == ["bad b", "good a"]


def test_options_are_those_of_sql_and_may_be_numpy_or_series() -> None:
    engine = ScriptedEngine()
    relserve.llm(
        REVIEWS, "{n}", engine=engine, max_tokens=np.int64(5), temperature=np.float32(0.5), stop=None
    )
    sampling = engine.submissions[0].sampling
    assert (sampling.max_tokens, sampling.temperature) == (5, 0.5)
    for choices in (REVIEWS["product"].unique(), pl.Series(["a", "b", "c"]), pa.array(["a", "b", "c"])):
        relserve.llm_classify(REVIEWS, "{n}", engine=engine, choices=choices)
        assert engine.submissions[-1].sampling.grammar.choices == ("a", "b", "c")


def test_a_failed_row_raises_where_asked_to() -> None:
    with pytest.raises(RowError, match="context holds 3"):
        relserve.llm(REVIEWS, "{review}", engine=echoing(max_prompt_chars=3), on_error="raise")


def test_models_by_name() -> None:
    assert relserve.llm(REVIEWS, "{n}", model="scripted").notna().all()
    with pytest.raises(ModelError, match=r"no model './nowhere'"):
        relserve.llm(REVIEWS, "{n}", model="./nowhere")


_CARET = (
    r"{reviw} is no column\n  Rate {reviw}\n {7}\^\n"
    r"Did you mean 'review'\? The columns are: review, product, n\."
)
TWICE = pd.DataFrame([[1, 2]], columns=["a", "a"])
MISTAKES: list[tuple[Any, str, dict[str, Any], type[Exception], str]] = [
    (REVIEWS, "Rate {reviw}", {}, TemplateError, _CARET),
    (REVIEWS, "Rate {zzz}", {}, TemplateError, r"{zzz} is no column(?s:.*)\^\nThe columns are"),
    (REVIEWS, "Rate {}", {}, TemplateError, r"does not say which(?s:.*)as in {review}, or give columns="),
    (REVIEWS, "Rate it", {}, TemplateError, r"no placeholder, so every row would be asked the same"),
    (REVIEWS, "Rate {review", {}, TemplateError, "never closed"),
    (REVIEWS, "{} {}", {"columns": ["n"]}, UsageError, "takes 2 columns, columns= gives 1"),
    (REVIEWS, "{}", {"columns": ["revew"]}, UsageError, "'revew', which is no column. Did you mean 'review'"),
    (TWICE, "{a}", {}, TemplateError, "could be any of 2 columns"),
    (TWICE, "{}", {"columns": ["a"]}, UsageError, "which 2 columns are called"),
    (REVIEWS, "{n}", {"max_token": 5}, OptionError, "no option 'max_token'. Did you mean max_tokens"),
    (REVIEWS, "{n}", {"column": ["n"]}, OptionError, "no option 'column'. Did you mean columns"),
    (REVIEWS, "{n}", {"field_order": "free"}, OptionError, "no meaning for a frame"),
    (REVIEWS, "{n}", {"max_tokens": "five"}, OptionError, "must be a whole number"),
    (REVIEWS, "{n}", {"model": "scripted"}, UsageError, "engine= or model=, not both"),
    (REVIEWS, 5, {}, UsageError, "the template must be text, not int"),
    ([1, 2], "{n}", {}, UsageError, r"relserve.llm\(\) takes a pandas or polars frame .* not list"),
    (pa.table({"n": [1]}).to_reader(), "{n}", {}, UsageError, "Reader; read it into a table first"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "template", "options", "error", "message"), MISTAKES)
def test_mistakes_are_told_before_anything_is_asked(
    data: Any, template: str, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    engine = ScriptedEngine()
    with pytest.raises(error, match=message):
        relserve.llm(data, template, engine=engine, **options)
    assert engine.submissions == []


def test_what_a_function_needs_is_told_as_in_sql() -> None:
    with pytest.raises(OptionError, match=r"llm_classify\(\) needs choices"):
        relserve.llm_classify(REVIEWS, "{n}")


@pytest.mark.parametrize("function", ROW_FUNCTIONS)
def test_every_function_of_sql_is_there_with_its_options(function: str) -> None:
    for name in (function, f"a{function}"):
        made = getattr(relserve, name)
        assert name in relserve.__all__
        assert made.__name__ == name
        options = set(FUNCTIONS[function].options) - {"field_order"}
        assert options <= set(inspect.signature(made).parameters)
        assert all(f"{option}: " in made.__doc__ for option in options)
    assert inspect.iscoroutinefunction(getattr(relserve, f"a{function}"))


def test_without_the_cache_all_is_asked_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_ANSWER_CACHE_MB", "10")
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    engine = echoing(identity="kept")
    for cache, asked in ((None, 1), (None, 1), (False, 2), (True, 2)):
        relserve.llm(REVIEWS["review"][:1], "{}", engine=engine, cache=cache)
        assert len(engine.submissions) == asked


@pytest.mark.long
def test_libraries_that_are_not_used_are_not_imported() -> None:
    code = """
import sys
import duckdb
import relserve
from relserve.engines.scripted import ScriptedEngine
rows = "(VALUES ('x', 1.5, [1]), (NULL, 2.5, NULL), ('x', 1.5, [1])) t(a, b, c)"
table = duckdb.sql("SELECT * FROM " + rows).to_arrow_table()
assert relserve.llm_score(table, "{a} {b} {c}", engine=ScriptedEngine()).null_count == 1
print([m for m in ("pandas", "polars") if m in sys.modules])
import polars as pl
assert relserve.llm(pl.from_arrow(table), "{a}", engine=ScriptedEngine()).null_count() == 1
print([m for m in ("pandas",) if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split("\n")[:2] == ["[]", "[]"], done.stderr
