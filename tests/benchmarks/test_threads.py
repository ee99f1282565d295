"""The parts of benchmarks.threads that measure nothing: the made-up models, the ratios, the crossover."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import made_up_llama
from benchmarks.threads import ThreadRates, best_of_vllm, crossover, sides
from relserve.engines.local.model_files import size_of_model


@pytest.mark.parametrize("millions", made_up_llama.SHAPES)
def test_a_made_up_model_has_about_the_size_of_its_name(millions: int) -> None:
    parameters = made_up_llama.num_parameters(made_up_llama.SHAPES[millions])
    assert parameters == pytest.approx(millions * 1e6, rel=0.1)


def test_a_made_up_model_is_a_folder_that_vllm_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.setattr(made_up_llama, "FOLDER", tmp_path)
    folder = made_up_llama.folder_of(10)
    written = (folder / "model.safetensors").stat().st_mtime_ns
    assert made_up_llama.folder_of(10) == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == written
    size = size_of_model(str(folder), None, None)
    assert size is not None
    assert size.parameters == made_up_llama.num_parameters(made_up_llama.SHAPES[10])
    assert json.loads((folder / "config.json").read_text())["hidden_size"] == 320
    assert (folder / "chat_template.jinja").is_file()


def test_ratios_are_those_within_a_turn() -> None:
    found = ThreadRates(250, {"relserve": [10.0, 40.0, 9.0], "vLLM, 2 threads": [10.0, 20.0, 10.0]})
    assert found.ratio("relserve", "vLLM, 2 threads") == 1.0


def test_the_best_of_vllm_is_no_side_of_ours() -> None:
    rates = {
        "relserve": [99.0],
        "vLLM, 1 thread": [1.0],
        "vLLM, 2 threads": [2.0],
        "vLLM, its default": [1.5],
    }
    assert best_of_vllm(ThreadRates(250, rates)) == "vLLM, 2 threads"


def test_the_crossover_is_the_smallest_model_that_gains() -> None:
    one, two = "vLLM, 1 thread", "vLLM, 2 threads"
    measured = [
        ThreadRates(size, {one: [10.0], two: [rate]}) for size, rate in ((5, 8.0), (60, 11.0), (25, 9.0))
    ]
    assert crossover(measured, two) == 60
    assert crossover(measured[:1], two) is None


def test_one_core_has_one_setting_of_vllm() -> None:
    assert list(sides(1, with_binding=True)) == ["relserve", "vLLM, 1 thread"]
    assert len(sides(2, with_binding=True)) == 5
