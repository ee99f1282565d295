"""Prompts in the chat templates of other models: nothing said is lost, no special token comes twice."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.zoo import NAMES, build
from benchmarks.zoo.recipes import RECIPES
from relserve.engines.local.prompts import PromptEncoder, load_encoder
from tests.modules import needs

pytestmark = needs("transformers")

PROMPT, SYSTEM = "Was the soup warm?", "You judge soups."
NO_SYSTEM_ROLE = {"gemma3": "refused", "mixtral": "refused", "phi3": "left out", "opt": "", "pythia": ""}


@pytest.fixture(
    scope="module",
    params=[pytest.param(n, marks=[] if n == "phi3" else [pytest.mark.long]) for n in NAMES],
)
def name(request: Any) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def encoder(name: str) -> PromptEncoder:
    found = load_encoder(str(build(name)))
    assert found is not None
    return found


def said(encoder: PromptEncoder, prompt: str, system: str | None) -> str:
    (ids,) = encoder.encode([prompt], system)
    text: str = encoder._tokenizer.decode(ids)
    return text


def test_the_system_message_and_the_prompt_are_said(name: str, encoder: PromptEncoder) -> None:
    text = said(encoder, PROMPT, SYSTEM)
    assert text.count(SYSTEM) == text.count(PROMPT) == 1
    assert text.index(SYSTEM) < text.index(PROMPT)
    assert said(encoder, PROMPT, None).count(PROMPT) == 1
    if encoder.has_template and name in NO_SYSTEM_ROLE:
        assert said(encoder, f"{SYSTEM}\n\n{PROMPT}", None) == text


def test_the_special_token_at_the_beginning_is_there_once(name: str, encoder: PromptEncoder) -> None:
    bos = RECIPES[name].tokenizer.bos
    for system in (None, SYSTEM):
        text = said(encoder, PROMPT, system)
        assert text.count(bos) == 1 if bos else not text.startswith(RECIPES[name].eos)


@pytest.mark.long
def test_a_reasoning_model_is_told_not_to_think() -> None:
    encoder = load_encoder(str(build("qwen3")))
    assert encoder is not None
    assert said(encoder, PROMPT, SYSTEM).endswith("<|im_start|>assistant\n<think>\n\n</think>\n\n")
