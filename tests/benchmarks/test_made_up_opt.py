"""Made-up OPT-style models: what they are, and that they are made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import made_up_opt
from benchmarks.made_up_opt import HEAD, OptShape, folder_of
from tests.modules import needs

pytestmark = needs("torch")


def test_a_model_is_made_once_and_has_a_tokenizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import AutoConfig, AutoTokenizer

    monkeypatch.setattr(made_up_opt, "FOLDER", tmp_path)
    folder = folder_of(OptShape(2 * HEAD, 1))
    config = AutoConfig.from_pretrained(folder)
    assert (config.num_attention_heads, config.num_hidden_layers, config.ffn_dim) == (2, 1, 8 * HEAD)
    assert len(AutoTokenizer.from_pretrained(folder)("a word")["input_ids"]) > 0
    made = (folder / "model.safetensors").stat().st_mtime_ns
    assert folder_of(OptShape(2 * HEAD, 1)) == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == made
    assert [each.name for each in tmp_path.iterdir()] == ["128x1"]
