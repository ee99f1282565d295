"""The models that relserve brings along: found by name, and missed in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from relserve.calibration.run import path_of as calibrated_path_of
from relserve.engines.registry import KINDS, path_of
from relserve.errors import ModelError
from relserve.machine import embedded
from relserve.machine.embedded import FOLDERS, called


def test_every_embedded_model_is_one_of_the_names_that_are_listed() -> None:
    assert set(FOLDERS) <= set(KINDS)


@pytest.mark.parametrize("find", [path_of, calibrated_path_of])
def test_a_name_leads_to_the_folder_whatever_stands_here(
    find: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / "config.json").write_text("{}")
    (tmp_path / "tiny-sql").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(embedded.FOLDERS, "tiny-sql", there)
    assert find("tiny-sql") == str(there)  # type: ignore[operator]
    (there / "config.json").unlink()
    with pytest.raises(ModelError, match=r"'tiny-sql' is not in this copy.*training\.tiny_sql\.train"):
        find("tiny-sql")  # type: ignore[operator]


def test_embedded_models_are_called_by_their_names() -> None:
    assert [called(str(folder)) for folder in FOLDERS.values()] == list(FOLDERS)
    assert called("/some/where") == "/some/where"
