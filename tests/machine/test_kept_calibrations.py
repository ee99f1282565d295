"""Calibrations on disk: as they were kept, or an error that says how to mend it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from relserve.errors import OptionError
from relserve.evaluation.calibrators import TemperatureScaling
from relserve.machine.kept_calibrations import KeptCalibration, keep_calibration, read_calibration

KEPT = KeptCalibration(
    "Praise? {}", ("yes", "no"), {"read": "'exact'"}, "tiny", "f00d", 100, TemperatureScaling(2.0)
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))


def test_it_is_read_as_it_was_kept_by_its_owner_alone() -> None:
    path = keep_calibration("praise", KEPT)
    assert read_calibration("praise") == KEPT
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["praise.json"]


def test_a_name_that_is_not_there_lists_those_that_are() -> None:
    with pytest.raises(OptionError, match=r"there is no calibration 'x' \(there are: none yet\)"):
        read_calibration("x")
    keep_calibration("praise", KEPT)
    with pytest.raises(OptionError, match=r"\(there are: praise\); relserve calibrate decisions --name x "):
        read_calibration("x")


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ('"format": 1', '"format": 2'), ('"temperature": 2.0', '"temperature": 0'),
        ('"temperature": 2.0', '"platt": []'), ('"temperature": 2.0', '"magic": 1'),
        ('"temperature": 2.0', '"platt": [{"slope": "NaN", "intercept": 0}]'), ("{", ""),
    ],
)  # fmt: skip
def test_a_file_that_somebody_changed_is_told(written: str, instead: str) -> None:
    path = keep_calibration("praise", KEPT)
    path.write_text(path.read_text().replace(written, instead, 1))
    with pytest.raises(OptionError, match=r"the calibration 'praise' cannot be used, for .*makes a new one"):
        read_calibration("praise")
