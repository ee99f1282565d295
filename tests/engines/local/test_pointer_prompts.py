"""A pointer model's prompt reaches it as it was in training: bare, behind the token that begins a text."""

from __future__ import annotations

import pytest

from relserve.engines.local.prompts import PromptEncoder
from training.tiny_sql.tokenizer import prompt_text, train_tokenizer

PROMPT = (
    "beer +s t0 : name c1 text , style c3 text , abv c4 num "
    "? average abv = c4 of <str> v0 @ c3 beer +s # t0 =>"
)


def test_the_template_adds_nothing_and_the_ids_are_those_of_training() -> None:
    pytest.importorskip("transformers", reason="vLLM is not installed")
    tokenizer = train_tokenizer([PROMPT] * 3, vocab_size=600)
    (ids,) = PromptEncoder(tokenizer).encode([PROMPT], None)
    assert ids == tokenizer(prompt_text(PROMPT), add_special_tokens=False)["input_ids"]
    assert tokenizer.decode(ids) == f"<s>{PROMPT} "
    assert tokenizer.convert_ids_to_tokens(ids).count("c4Ġ") == 2
