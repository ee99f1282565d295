"""Where a calibration is kept: the same place for the same model and hardware, another for others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from relserve.machine import cost_file, hardware
from relserve.machine.cost_file import cost_path, find_cost
from relserve.policies.model.linear import CostModel
from relserve.vllm_plugin.settings import FIRST_GUESS, read

COST = CostModel(1e-5, 2e-3, 3e-5, 4e-3, 5e-3)
STEERED = {"relserve": {"variant": "dpu+marginal"}}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path / "cache"))


def folder(path: Path, layers: int) -> str:
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps({"num_hidden_layers": layers}))
    return str(path)


def test_a_folder_is_known_by_its_config_wherever_it_is(tmp_path: Path) -> None:
    here, there = folder(tmp_path / "a" / "qwen", 4), folder(tmp_path / "b" / "qwen", 4)
    assert cost_path(here) == cost_path(there) == cost_path(here + "/")
    assert cost_path(here) != cost_path(folder(tmp_path / "c" / "qwen", 5))


def test_a_hub_id_and_its_local_copy_are_one_model() -> None:
    copy = "/home/me/.cache/huggingface/hub/models--org--name/snapshots/0123abc"
    assert cost_file.model_key(copy) == cost_file.model_key("org/name") == "org/name"


def test_another_machine_has_another_file(monkeypatch: pytest.MonkeyPatch) -> None:
    here = cost_path("org/name")
    monkeypatch.setattr(hardware, "gpus", lambda: ["NVIDIA H100"])
    assert cost_path("org/name") != here


def test_engines_find_it_unless_told_another() -> None:
    assert read(STEERED, "org/name").first_cost == FIRST_GUESS
    COST.save(cost_path("org/name"))
    assert read(STEERED, "org/name").first_cost == COST
    assert read(STEERED, "org/other").first_cost == FIRST_GUESS
    stock = {"relserve": {"variant": "stock"}}
    assert read(stock, "org/name").cost_path == ""  # it predicts nothing
    mine = cost_path("org/name").with_name("mine.json")
    FIRST_GUESS.save(mine)
    given = {"relserve": {"variant": "dpu+marginal", "cost_path": str(mine)}}
    assert read(given, "org/name").first_cost == FIRST_GUESS


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"prefill": 1}', "no json"])
def test_a_broken_one_is_a_warning_and_not_used(text: str, caplog: pytest.LogCaptureFixture) -> None:
    path = cost_path("org/name")
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert find_cost("org/name") == ""
    assert "relserve calibrate makes a new one" in caplog.text
