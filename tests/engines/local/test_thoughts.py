"""What chat templates tell of thoughts, and the prompts that they end in."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from asking import ask
from thinking_model import ALWAYS, DEEPSEEK, GPT_OSS, HEAD, PLAIN, QWEN3, TRAINED, encoder_of

from relserve.engines.local.engine import LocalEngine
from relserve.engines.local.thoughts import HARMONY, marks_of, switches_of
from relserve.errors import OptionError
from relserve.tiny import MODEL_DIR


def rendered(template: str, thinking: int) -> str:
    """The prompt as the model reads it."""
    encoder = encoder_of(template)
    (ids,) = encoder.encode(["Hm?"], None, thinking)
    return encoder._tokenizer.decode(ids, skip_special_tokens=False)


@pytest.mark.parametrize(
    ("template", "switches"),
    [
        (QWEN3, {"enable_thinking"}),
        (DEEPSEEK, {"thinking"}),
        (GPT_OSS, {"reasoning_effort"}),
        (TRAINED, {"enable_thinking"}),
        (ALWAYS, set()),
        (PLAIN, set()),
        ("{% set thinking = true %}{{ thinking }}{{ message.enable_thinking }}", set()),
        ("{% if %}", set()),
    ],
)
def test_a_template_tells_what_it_reads(template, switches):
    assert switches_of(template) == switches


@pytest.mark.cells(4)
@pytest.mark.parametrize(
    ("template", "thinking", "ending"),
    [
        (QWEN3, 9, "<|assistant|>\n<think>\n"),
        (QWEN3, 0, "<|assistant|>\n<think>\n\n</think>\n\n"),
        (DEEPSEEK, 9, "<|assistant|>\n<think>"),
        (DEEPSEEK, 0, "<|assistant|>\n</think>"),
        (ALWAYS, 9, "<|assistant|>\n<think>\n"),
        (ALWAYS, 0, "<|assistant|>\n<think>\n\n</think>\n\n"),  # told or not, it would think
        (GPT_OSS, 9, "<|start|>assistant<|channel|>analysis<|message|>"),
        (GPT_OSS, 0, "<|start|>assistant<|channel|>final<|message|>"),
        (PLAIN, 0, "<|assistant|>\n"),
    ],
)
def test_a_prompt_ends_where_thoughts_or_answer_begin(template, thinking, ending):
    said = rendered(template, thinking)
    assert said.endswith(ending)
    assert said.count("think>") == ending.count("think>")


@pytest.mark.parametrize(("tokens", "effort"), [(0, "medium"), (512, "low"), (900, "medium"), (4096, "high")])
def test_gpt_oss_is_told_an_effort(tokens, effort):
    assert f"Reasoning: {effort}<|end|>" in rendered(GPT_OSS, tokens)


def test_marks_are_found_in_the_template_or_the_vocabulary():
    assert encoder_of(GPT_OSS).marks == HARMONY
    assert encoder_of(PLAIN).marks is None

    tokenizer = SimpleNamespace(
        chat_template={"default": PLAIN, "tool_use": "-"},
        get_added_vocab=lambda: {"[THINK]": 34, "[/THINK]": 35},
    )
    assert marks_of(tokenizer).opening == "[THINK]"


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (QWEN3, ""),
        (DEEPSEEK, ""),
        (GPT_OSS, ""),
        (ALWAYS, ""),
        (None, "it has no chat template"),
        (PLAIN, "reads none of enable_thinking, thinking, reasoning_effort"),
        (HEAD + "{{ enable_thinking }}{% endif %}", "do not show how it marks thoughts"),
    ],
)
def test_who_cannot_think_is_known_by_the_files(template, why):
    said = encoder_of(template).why_it_cannot_think
    assert why in said
    assert bool(why) == bool(said)


def test_a_model_that_cannot_think_is_refused_before_an_engine_starts():
    pytest.importorskip("transformers")
    engine = LocalEngine("tiny", str(MODEL_DIR))
    with pytest.raises(OptionError, match="tiny cannot be asked to think: its chat template reads none of"):
        ask(engine, ["a"], thinking=9)
    assert engine.pid is None
    assert engine._starting is None
