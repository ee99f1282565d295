"""The shipped weights: small, as described, and good enough to be a default."""

import json

import pytest

from relserve.text2sql.writers import writes_handles
from relserve.tiny_sql import MODEL_DIR
from training.tiny.tokenizer import load_tokenizer
from training.tiny_sql.evaluate import verdicts
from training.tiny_sql.tokenizer import SINGLE_WORDS


def test_model_is_small_and_as_configured() -> None:
    assert (MODEL_DIR / "model.safetensors").stat().st_size < 8_000_000
    config = json.loads((MODEL_DIR / "config.json").read_text(encoding="utf-8"))
    assert config["architectures"] == ["LlamaForCausalLM"]
    assert config["dtype"] == "bfloat16"
    assert config["vocab_size"] == len(load_tokenizer(MODEL_DIR))
    assert writes_handles(str(MODEL_DIR))


def test_every_word_of_the_answer_language_is_one_token() -> None:
    tokenizer = load_tokenizer(MODEL_DIR)
    assert all(len(tokenizer(f"{word} ", add_special_tokens=False).input_ids) == 1 for word in SINGLE_WORDS)


@pytest.mark.long
def test_held_out_accuracy() -> None:
    judged = verdicts(MODEL_DIR, 24, shuffles=1, seed="tests")
    assert sum(each.single for each in judged) >= 18
