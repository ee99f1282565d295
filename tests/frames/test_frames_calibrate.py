"""`relserve.calibrate_decisions` on frames: what it gives back, and what is wrong told in words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import relserve
from relserve.errors import OptionError, RelserveWarning, UsageError
from tests.too_sure import TooSureEngine, labelled_rows

ROWS = pd.DataFrame(labelled_rows())


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))


def calibrated(data: Any = ROWS, question: str = "Praise? {text}", **given: Any) -> Any:
    given = {"truth": "label", "name": "praise", "engine": TooSureEngine(), "progress": False, **given}
    return relserve.calibrate_decisions(data, question, **given)


def test_the_figures_are_of_rows_left_out_and_better() -> None:
    found = calibrated()
    (row,) = found.summary.to_pylist()
    assert (row["name"], row["rows"]) == ("praise", 380)
    assert row["method"] in ("temperature", "platt", "isotonic")
    assert row["brier_after"] < row["brier_before"]
    assert row["error_after"] < 0.05 < row["error_before"]
    bins = [each for each in found.reliability.to_pylist() if each["when"] == "before"]
    assert [each["num_rows"] for each in bins] == [20] + [40] * 9
    assert str(found).startswith(f"praise: {row['method']}, 380 rows; Brier score 0.")


def test_frames_give_corrected_probabilities() -> None:
    calibrated()
    data = pd.DataFrame({"text": ["a 0.9", None]})
    given = {"engine": TooSureEngine(), "progress": False}
    found = relserve.llm_prob(data, "Praise? {text}", calibration="praise", **given)
    assert found[0] == pytest.approx(0.7, abs=0.06)
    assert pd.isna(found[1])


def test_rows_without_a_label_or_an_answer_are_left_out() -> None:
    more = pd.DataFrame({"text": ["a 0.5", None], "label": [None, "true"]})
    assert calibrated(pd.concat([ROWS, more])).report.num_rows == 380
    assert calibrated(rows=100).report.num_rows == 100


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"data": ROWS.head(19)}, "only 19 rows have both a label and probabilities"),
        ({"truth": [True] * 380}, "all 380 rows have the label 'yes', which says nothing of the others"),
        ({"data": ROWS.assign(text="a 0.5")}, "the model gives all 380 rows the same probab"),
        ({"truth": ["maybe", *ROWS["label"][1:]]}, "a label must be true or false (or yes or no"),
        ({"truth": "labl"}, "truth= names 'labl', which is no column. Did you mean 'label'?"),
        ({"truth": [True]}, "truth= has 1 values for 380 rows"),
        ({"choices": ["a", "b"]}, "a label must be one of ['a', 'b'], not 'true' in row 1"),
    ],
)  # fmt: skip
def test_rows_that_tell_nothing_are_an_error_and_keep_nothing(
    given: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        calibrated(**given)
    assert not (tmp_path / "calibrations").exists()


def test_a_wrong_call_is_told_before_anything_is_asked() -> None:
    engine = TooSureEngine()
    for given, said in (
        ({"name": "../praise"}, "name must be a name of letters"),
        ({"choices": ["a"]}, "needs two choices or more"),
        ({"temperature": 0.5}, "has no option 'temperature'"),
    ):
        with pytest.raises(OptionError, match=said):
            calibrated(engine=engine, **given)
    assert engine.num_prompts == 0


def test_a_calibration_is_not_fitted_on_top_of_another() -> None:
    calibrated()
    with pytest.raises(UsageError, match="leave calibration := out here"):
        calibrated(calibration="praise")


def test_a_question_that_shows_the_labels_is_warned_of() -> None:
    with pytest.warns(RelserveWarning, match="shows the model the right answers"):
        calibrated(question="Praise? {label} {text}")
