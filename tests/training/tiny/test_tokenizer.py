"""The shipped tokenizer loses nothing and renders prompts as the generator does."""

import functools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from relserve.tiny import MODEL_DIR
from tests.modules import later
from training.tiny.prompts import chat
from training.tiny.tokenizer import load_tokenizer

transformers = later("transformers")

tokenizer = functools.cache(lambda: load_tokenizer(MODEL_DIR))


@given(st.text())
@settings(max_examples=300, deadline=None)
def test_every_text_survives_a_round_trip(text: str) -> None:
    ids = tokenizer()(text, add_special_tokens=False).input_ids
    assert tokenizer().decode(ids, clean_up_tokenization_spaces=False) == text


@pytest.mark.parametrize("system", ["", "Be brief."])
def test_chat_template_is_the_training_format(system: str) -> None:
    user = " Is it good? \n{review}\n"
    messages = [{"role": "system", "content": system}] * bool(system) + [{"role": "user", "content": user}]
    shown = tokenizer().apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert shown == chat(user, system)


def test_answer_follows_the_prompt_and_ends() -> None:
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    assert tokenizer().apply_chat_template(messages, tokenize=False) == "<s><|user|>\na\n<|assistant|>\nb</s>"


def test_special_tokens_are_single() -> None:
    assert isinstance(tokenizer(), transformers.PreTrainedTokenizerFast)
    for token in ("<pad>", "<s>", "</s>", "<|user|>", "<|assistant|>"):
        assert len(tokenizer()(token, add_special_tokens=False).input_ids) == 1
