"""Chat templates of the forms that reasoning models have, and tiny made over into such a model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from relserve.engines.local.prompts import PromptEncoder
from relserve.tiny import MODEL_DIR

HEAD = (
    "{% for message in messages %}<|user|>\n{{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}"
)
QWEN3 = (
    HEAD + "<|assistant|>\n{% if enable_thinking is defined and enable_thinking is false %}"
    "{{ '<think>\n\n</think>\n\n' }}{% endif %}{% endif %}"
)
DEEPSEEK = (
    "{% if not thinking is defined %}{% set thinking = false %}{% endif %}" + HEAD + "<|assistant|>\n"
    "{% if thinking %}<think>{% else %}</think>{% endif %}{% endif %}"
)
ALWAYS = HEAD + "<|assistant|>\n{{ '<think>\n' }}{% endif %}"  # DeepSeek-R1, QwQ, Qwen3-Thinking
GPT_OSS = (
    "{%- if reasoning_effort is not defined %}{%- set reasoning_effort = 'medium' %}{%- endif %}"
    "{{ '<|start|>system<|message|>Reasoning: ' + reasoning_effort + '<|end|>' }}"
    "{%- for message in messages %}{%- if message.role == 'assistant' %}"
    "{{ '<|start|>assistant<|channel|>analysis<|message|>' + message.thinking + '<|end|>' }}"
    "{%- else %}{{ '<|start|>' + message.role + '<|message|>' + message.content + '<|end|>' }}{%- endif %}"
    "{%- endfor %}{%- if add_generation_prompt %}<|start|>assistant{%- endif %}"
)
TRAINED = (
    "{% for message in messages %}{% generation %}{{ message['content'] }}{% endgeneration %}"
    "{% if not enable_thinking %}{% break %}{% endif %}{% endfor %}"
)
PLAIN = HEAD + "<|assistant|>\n{% endif %}"


def encoder_of(template: str | None) -> PromptEncoder:
    """Tiny's tokenizer behind another chat template."""
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(MODEL_DIR, local_files_only=True)
    tokenizer.chat_template = template
    return PromptEncoder(tokenizer)


def make(folder: Path, template: str = QWEN3) -> Path:
    """Tiny with such a template, in which the token that ends its turns is called </think>.

    So the model itself ends its thoughts, where a budget allows it, after a few tokens: tiny's weights have
    learned to write that token. What ends a turn is another one, which tiny hardly writes. As with the real
    models, the marks are added tokens but not special ones: decoding leaves these out, and parsers read text.
    """
    shutil.copytree(MODEL_DIR, folder)
    (folder / "chat_template.jinja").write_text("{{ bos_token }}" + template, encoding="utf-8")
    path = folder / "tokenizer.json"
    text = path.read_text(encoding="utf-8")
    for name, other in (("</s>", "</think>"), ("<pad>", "<think>")):
        text = text.replace(json.dumps(name), json.dumps(other))
    tokenizer = json.loads(text)
    for token in tokenizer["added_tokens"]:
        token["special"] = "think>" not in token["content"]
    path.write_text(json.dumps(tokenizer), encoding="utf-8")
    _change(folder / "tokenizer_config.json", eos_token="<|user|>", pad_token="<|user|>")
    for name in ("config.json", "generation_config.json"):
        _change(folder / name, eos_token_id=3, pad_token_id=3)
    return folder


def _change(path: Path, **fields: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | fields), encoding="utf-8")
