"""The shipped weights: small, as configured, and good enough to be a default."""

from __future__ import annotations

import json

import pytest

from relserve.tiny import MODEL_DIR
from tests.modules import later
from training.tiny.corpus import heldout
from training.tiny.real_rows import amazon_sentiment, beer_sentiment, data_folder

evaluate = later("training.tiny.evaluate")


def test_model_is_small_and_as_configured() -> None:
    assert sum(file.stat().st_size for file in MODEL_DIR.iterdir()) < 20_000_000
    config = json.loads((MODEL_DIR / "config.json").read_text(encoding="utf-8"))
    assert config["architectures"] == ["LlamaForCausalLM"]
    assert config["num_key_value_heads"] == config["num_attention_heads"]
    assert config["head_dim"] in (32, 64)
    assert config["tie_word_embeddings"] is True
    assert config["max_position_embeddings"] == 4096


@pytest.fixture(scope="module")
def model() -> evaluate.ChoiceModel:
    return evaluate.ChoiceModel()


@pytest.mark.long
@pytest.mark.parametrize(
    ("task", "least"),
    [
        pytest.param("sentiment", 0.85, marks=pytest.mark.long),
        pytest.param("yes_no", 0.85, marks=pytest.mark.long),
        pytest.param("category", 0.8, marks=pytest.mark.long),
        ("rating", 0.8),
    ],
)
def test_held_out_accuracy(model: evaluate.ChoiceModel, task: str, least: float) -> None:
    assert evaluate.accuracy(model, heldout(task, 60, seed=11)) >= least


def test_choices_constrain_the_answer(model: evaluate.ChoiceModel) -> None:
    prompts = ["<s><|user|>\nnonsense\n<|assistant|>\n"] * 2
    assert set(model.complete(prompts, ("zebra", "yes please"), 12)) <= {"zebra", "yes please"}


@pytest.mark.data
def test_real_rows_are_of_the_unseen_half() -> None:
    if data_folder() is None:
        pytest.skip("no real tables: set RELSERVE_DATA")
    for load in (amazon_sentiment, beer_sentiment):
        group = load(40)
        assert group is not None
        assert len(group.expected) == 40
