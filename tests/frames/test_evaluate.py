"""`relserve.evaluate`: labels of each type, samples, models and wordings, and the figures that come out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import relserve
from relserve.call.relquery import Reply, Submission
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import (
    Failure,
    FailureKind,
    OptionError,
    RelserveWarning,
    RowsFailedWarning,
    TemplateError,
    UsageError,
)
from relserve.examples import TABLES

GOOD = pd.DataFrame({
    "text": ["good 1", "good 2", "bad 3", "bad 4", None, "odd 6", "good 7"],
    "label": [True, True, False, True, True, False, None],
})  # fmt: skip


def telling(prompt: str, submission: Submission) -> str | Failure:
    """Yes where it reads good; no reply that counts where it reads odd."""
    if "odd" in prompt:
        return Failure(FailureKind.REFUSED, "too odd")
    return "yes" if "good" in prompt.splitlines()[-1] else "no"


def evaluate(data: Any, template: Any = "Is it praise? {text}", **given: Any) -> relserve.Evaluation:
    given.setdefault("engine", ScriptedEngine(telling))
    return relserve.evaluate(data, template, progress=False, **given)


def summary_of(found: relserve.Evaluation) -> dict[str, Any]:
    (row,) = found.summary.to_pylist()
    return dict(row)


def test_a_filter_is_measured_and_null_is_never_right() -> None:
    """Row 5 has a NULL input, row 6 fails, row 7 has no label."""
    found = evaluate(GOOD, label="label")
    row = summary_of(found)
    assert (found.function, found.num_unlabelled) == ("llm_filter", 1)
    assert (row["rows"], row["right_answers"], row["null_answers"]) == (6, 3, 2)
    assert row["prompts"] == 5
    assert row["prompt_tokens"] > 0
    assert row["output_tokens"] > 0
    assert row["seconds"] > 0
    assert found.confusion.to_pylist() == [
        {"run": 1, "label": "true", "true": 2, "false": 1, "NULL": 1},
        {"run": 1, "label": "false", "true": 0, "false": 1, "NULL": 1},
    ]
    assert [(each["row"], each["answer"], each["why"]) for each in found.worst.to_pylist()] == [
        (4, "false", None), (5, None, None), (6, None, "too odd"),
    ]  # fmt: skip
    assert str(found).startswith("run 1: right 3 of 6, 50.0% (18.8% to 81.2%); scripted: Is it praise?")


def test_rows_that_failed_are_warned_of_at_the_users_line() -> None:
    with pytest.warns(RowsFailedWarning, match="1 of 6 rows failed") as told:
        relserve.evaluate(
            GOOD, "Is it praise? {text}", label="label", engine=ScriptedEngine(telling), progress=False
        )
    assert [each.filename for each in told] == [__file__]


@pytest.mark.parametrize(
    "labels",
    [
        [1, 1, 0, 1], ["yes", "TRUE ", "No", "y"], np.array([True, True, False, True]),
        pd.Series([1.0, 1.0, 0.0, 1.0]), pl.Series([True, True, False, True]),
    ],
)  # fmt: skip
def test_labels_may_be_values_of_many_types(labels: Any) -> None:
    found = evaluate(GOOD[["text"]].head(4), label=labels, function="llm_filter")
    assert summary_of(found)["right_answers"] == 3


@pytest.mark.parametrize(
    ("label", "options", "function", "reply", "right"),
    [
        (["a", "b", "a "], {}, "llm_classify", "a", 2),
        (["A", "b", "c"], {"choices": ["a", "b", "c"]}, "llm_classify", "b", 1),
        ([3, 4, 4], {}, "llm_int", "4", 2),
        ([1.5, 2.5, 2.5], {}, "llm_double", "2.5", 2),
        ([pd.Timestamp("2026-03-14").date()] * 3, {}, "llm_date", '"2026-03-14"', 3),
        ([4, 5, 4], {"function": "llm_score", "lo": 1, "hi": 5}, "llm_score", "4", 2),
        (["Acme Corp", "x", "acme"], {"schema": {"brand": "VARCHAR"}}, "llm_extract",
         '{"brand":"Acme  Corp"}', 1),
        ([2, 2, 1], {"schema": {"brand": "VARCHAR", "days": "BIGINT"}, "field": "days"}, "llm_extract",
         '{"brand": null, "days": 2}', 2),
        (["one two", "x", "one  two"], {"function": "llm"}, "llm", " one two", 2),
    ],
)  # fmt: skip
def test_the_labels_type_tells_what_is_asked_and_how_it_compares(
    label: list[Any], options: dict[str, Any], function: str, reply: str, right: int
) -> None:
    data = {"x": [10, 20, 30]}
    engine = ScriptedEngine(lambda prompt, submission: reply)
    found = evaluate(pd.DataFrame(data), "What? {x}", label=label, engine=engine, **options)
    assert (found.function, summary_of(found)["right_answers"]) == (function, right)


@pytest.mark.cells(1)
@pytest.mark.parametrize("label", ["label", GOOD["label"], GOOD["label"].tolist()])
def test_a_question_that_shows_the_labels_is_warned_of(label: Any) -> None:
    with pytest.warns(RelserveWarning, match=r"shows the model the right answers in \{label\}") as caught:
        evaluate(GOOD, ["Is it praise? {text}", "Is it praise? {text} {label}"], label=label)
    assert sum("right answers" in str(each.message) for each in caught) == 1


def test_wordings_and_models_are_compared_on_the_same_rows() -> None:
    found = evaluate(GOOD, ["Is it praise? {text}", "Is it not good? {text}"], label="label")
    first, second = found.summary.to_pylist()
    assert (first["right_answers"], second["right_answers"]) == (3, 3)
    (pair,) = found.comparison.to_pylist()
    assert pair == {
        "first": 1, "second": 2, "both_right": 2, "only_first": 1, "only_second": 1, "both_wrong": 2,
        "p_value": 1.0,
    }  # fmt: skip
    models = relserve.evaluate(
        GOOD, "Good? {text}", label="label", model=["scripted", "scripted"], progress=False
    )
    assert [run.number for run in models.runs] == [1, 2]
    assert models.runs[0].rows == models.runs[1].rows


def test_a_sample_is_drawn_by_its_seed_among_labelled_rows() -> None:
    data = pd.DataFrame({"text": [f"good {i}" for i in range(100)]})
    labels = [None if i % 2 else True for i in range(100)]
    drawn = [
        [row.place for row in evaluate(data, label=labels, rows=10, seed=seed).runs[0].rows]
        for seed in (1, 1, 2)
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    assert all(len(set(places)) == 10 and places == sorted(places) for places in drawn)
    assert not any(place % 2 for places in drawn for place in places)


class Starting(ScriptedEngine):
    """Keeps what it was told to do."""

    def __init__(self) -> None:
        super().__init__(telling)
        self.told: list[str] = []

    async def start(self) -> None:
        self.told.append("start")

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        self.told.append("answer")
        async for replies in super().answer(submission):
            yield replies


def test_an_engine_is_started_before_its_rows_are_timed() -> None:
    engine = Starting()
    evaluate(GOOD, label="label", engine=engine)
    assert engine.told == ["start", "answer"]


def test_the_model_tells_how_sure_it_is_where_the_call_asks() -> None:
    engine = ScriptedEngine(telling, sure=lambda prompt: 0.9 if prompt.endswith("4") else 0.6)
    data = pd.DataFrame({"text": ["bad 1", "bad 4", "good 5"], "label": [True, True, False]})
    found = evaluate(data, label="label", engine=engine, min_confidence=0)
    assert [(each["row"], each["confidence"]) for each in found.worst.to_pylist()] == [
        (2, 0.9), (1, 0.6), (3, 0.6),
    ]  # fmt: skip


def test_kept_answers_are_used_only_where_the_caller_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RELSERVE_ANSWER_CACHE_MB", "10")
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    engine = ScriptedEngine(telling, identity="kept")
    for cache, num_asked in ((False, 1), (False, 2), (True, 3), (True, 3)):
        evaluate(GOOD.head(2), label="label", engine=engine, cache=cache)
        assert len(engine.submissions) == num_asked


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"label": "lable"}, r"label= names 'lable', which is no column\. Did you mean 'label'\?"),
        ({"label": [True]}, r"label= has 1 values for 7 rows"),
        ({"label": [None] * 7}, r"none of the 7 rows has a label"),
        ({"label": ["yes", "maybe"] * 3 + [None], "function": "llm_filter"},
         r"true or false .*, not 'maybe' in row 2, 'maybe' in row 4, 'maybe' in row 6: no answer could"),
        ({"label": ["a"] * 6 + ["z"], "choices": ["a", "b"]}, r"the choices \['a', 'b'\], not 'z' in row 7"),
        ({"label": "label", "function": "llm_agg"}, "no function 'llm_agg' can be evaluated"),
        ({"label": ["same"] * 7}, "1 different texts"),
        ({"label": "label", "rows": 0}, "rows must be at least 1"),
        ({"label": "label", "template": []}, "template= is an empty list"),
        ({"label": "label", "field": "x"}, r"answers of llm_filter\(\) have no field 'x'"),
        ({"label": ["x"] * 7, "schema": {"a": "DATE", "b": "DATE"}}, r"field=; there are: \['a', 'b'\]"),
        ({"label": [1, "a", *[None] * 5]}, "several types"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_told_before_anything_is_asked(given: dict[str, Any], said: str) -> None:
    engine = ScriptedEngine(telling)
    with pytest.raises(UsageError, match=said):
        evaluate(GOOD, engine=engine, **given)
    assert not engine.submissions


@pytest.mark.parametrize(
    ("template", "options", "error"),
    [("Is it? {txt}", {}, TemplateError), (["Is it? {text}", "{nope}"], {}, TemplateError),
     ("Is it? {text}", {"max_tokes": 3}, OptionError)],
)  # fmt: skip
def test_a_wrong_call_is_told_before_anything_is_asked(
    template: Any, options: dict[str, Any], error: type[Exception]
) -> None:
    engine = ScriptedEngine(telling)
    with pytest.raises(error):
        evaluate(GOOD, template, label="label", engine=engine, **options)
    assert not engine.submissions


def test_the_intervals_of_samples_cover_the_accuracy_of_the_table() -> None:
    reviews = pd.read_csv(TABLES["reviews"])
    labels = reviews["stars"] >= 4
    engine = ScriptedEngine()  # right by chance
    whole = evaluate(reviews, "Praise? {review}", label=labels, engine=engine).runs[0].score.accuracy
    assert whole is not None
    covered = 0
    for seed in range(40):
        found = evaluate(reviews, "Praise? {review}", label=labels, engine=engine, rows=50, seed=seed)
        share = found.runs[0].score.accuracy
        assert share is not None
        covered += share.low <= whole.value <= share.high
    assert covered >= 37
