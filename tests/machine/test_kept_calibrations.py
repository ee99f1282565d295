"""Calibrations on disk: as they were kept, or an error that says how to mend it."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from relserve.errors import OptionError, UsageError
from relserve.evaluation.calibrators import TemperatureScaling
from relserve.machine import private_files
from relserve.machine.kept_calibrations import (
    KeptCalibration,
    calibration_path,
    keep_calibration,
    read_calibration,
)
from tests.waiting import PATIENCE_S

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
        ('{\n  "read": "\'exact\'"\n }', '"read"'), ('"temperature": 2.0', '"temperature": -2.0'),
        ('"temperature": 2.0', '"isotonic": [{"places": [0.9, 0.1], "shares": [0.1, 0.9]}]'),
        ('"temperature": 2.0', '"isotonic": [{"places": [0.1, 0.9], "shares": [0.1, 7]}]'),
        ('"temperature": 2.0', '"isotonic": [{"places": [0.6, 0.9], "shares": [0.1]}]'),
    ],
)  # fmt: skip
def test_a_file_that_somebody_changed_is_told(written: str, instead: str) -> None:
    path = keep_calibration("praise", KEPT)
    path.write_text(path.read_text().replace(written, instead, 1))
    with pytest.raises(OptionError, match=r"the calibration 'praise' cannot be used, for .*makes a new one"):
        read_calibration("praise")


def test_what_cannot_be_written_is_told_and_leaves_nothing() -> None:
    (path := calibration_path("praise")).mkdir(parents=True)
    with pytest.raises(UsageError, match=r"'praise' cannot be kept in .*praise.json \(.*RELSERVE_CACHE_DIR"):
        keep_calibration("praise", KEPT)
    assert list(path.parent.iterdir()) == [path]
    path.rmdir()
    path.parent.rmdir()
    path.parent.touch()
    with pytest.raises(UsageError, match="'praise' cannot be kept in"):
        keep_calibration("praise", KEPT)


def test_two_that_keep_one_name_at_once_keep_one_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    both_wrote, replace = Barrier(2), os.replace

    def replaced(unfinished: Path, path: Path) -> None:
        both_wrote.wait(PATIENCE_S)
        replace(unfinished, path)

    monkeypatch.setattr(private_files.os, "replace", replaced)
    with ThreadPoolExecutor(2) as pool:
        (path, other) = pool.map(keep_calibration, ["praise"] * 2, [KEPT] * 2)
    assert path == other
    assert [each.name for each in path.parent.iterdir()] == ["praise.json"]
