"""Failed rows: NULL, on record, and told in a warning."""

from __future__ import annotations

import os
import signal
import warnings

import pandas as pd
import polars as pl
import pytest
from frames_fixtures import echoing, listed

import relserve
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import Failure, FailureKind, RowsFailedWarning
from relserve.session.failures_text import failures_text
from tests.waiting import act_when, wait_until


def test_failed_rows_are_null_and_told_with_their_causes() -> None:
    texts = ["fine"] * 5 + ["x" * 99] * 3 + ["odd"] * 2 + [None]
    engine = ScriptedEngine(lambda p, s: "perhaps" if "odd" in p else "yes", max_prompt_chars=80)
    with pytest.warns(RowsFailedWarning) as warned:
        column = relserve.llm_filter(pd.DataFrame({"t": texts}), "{t}", engine=engine)
    assert listed(column) == [True] * 5 + [None] * 6
    (warning,) = [each for each in warned if each.category is RowsFailedWarning]  # not what others leak
    expected = "5 of 11 rows failed and are NULL: 3 over context, 2 unparsable; see relserve.llm_errors()"
    assert str(warning.message) == expected
    assert warning.filename == __file__
    errors = relserve.llm_errors().to_pylist()[-2:]
    assert {(e["function"], e["kind"], e["rows"]) for e in errors} == {
        ("llm_filter", "over_context", 3), ("llm_filter", "unparsable", 2),
    }  # fmt: skip
    query = relserve.llm_queries().to_pylist()[-1]
    assert (query["rows"], query["failed_rows"], query["null_rows"], query["rel_id"]) == (
        11, 5, 1, errors[0]["rel_id"],
    )  # fmt: skip


def test_ctrl_c_aborts_the_requests() -> None:
    former = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits SIG_IGN
    engine = echoing(chunk=1, pause_s=0.05)
    try:
        act_when(lambda: engine.num_answered, lambda: os.kill(os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            relserve.llm(pd.DataFrame({"t": range(500)}), "{t}", engine=engine)
    finally:
        signal.signal(signal.SIGINT, former)
    wait_until(lambda: engine.aborted)
    assert relserve.llm_queries().to_pylist()[-1]["state"] == "cancelled"


def test_no_failed_row_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        relserve.llm(pd.DataFrame({"t": ["a", None]}), "{t}", engine=echoing())


def test_a_lazy_frame_warns_when_it_is_collected() -> None:
    lazy = relserve.llm(pl.LazyFrame({"t": ["x" * 9, "y"]}), "{t}", engine=echoing(max_prompt_chars=5))
    with pytest.warns(RowsFailedWarning, match="1 of 2 rows failed and is NULL: 1 over context"):
        assert lazy.collect()["llm"].to_list() == [None, "y"]


@pytest.mark.parametrize(
    ("failed", "text"),
    [
        ({}, ""),
        ({FailureKind.REFUSED: 0}, ""),
        ({FailureKind.ENGINE: 1}, "1 of 10,000 rows failed and is NULL: 1 engine failed; see here"),
        (
            {FailureKind.UNPARSABLE: 3, FailureKind.OVER_CONTEXT: 1200},
            "1,203 of 10,000 rows failed and are NULL: 1,200 over context, 3 unparsable; see here",
        ),
        ({FailureKind.REFUSED: 2}, "2 of 10,000 rows failed and are NULL: 2 refused; see here"),
    ],
)
def test_the_wording(failed: dict[FailureKind, int], text: str) -> None:
    assert failures_text(10_000, failed, "here") == text


def test_every_kind_of_failure_can_be_told() -> None:
    for kind in FailureKind:
        engine = ScriptedEngine(lambda p, s, kind=kind: Failure(kind, "made to fail"))
        told = "1 of 1 rows (failed and is NULL: 1 [a-zA-Z ]+|are NULL until their batch ends); see"
        with pytest.warns(RowsFailedWarning, match=told):
            relserve.llm(pd.DataFrame({"t": ["a"]}), "{t}", engine=engine)
    kinds = [error["kind"] for error in relserve.llm_errors().to_pylist()[-len(FailureKind) :]]
    assert kinds == [str(kind) for kind in FailureKind]
