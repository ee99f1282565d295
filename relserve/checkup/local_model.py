"""What is known of a model on this machine: before it is started, of its folder; then of its engine."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from relserve.checkup.page import ChatTemplate, LocalModel
from relserve.engines.local import cpu
from relserve.engines.local.cpu_plan import GIB
from relserve.engines.local.engine import LocalEngine
from relserve.engines.local.model_files import NUMBER_BYTES, WEIGHTS, read_config, size_of_model
from relserve.engines.local.prompts import PromptEncoder
from relserve.engines.local.running import RunningEngine
from relserve.errors import ModelError

TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "tekken.json", "tokenizer_config.json")


def check_folder(name: str, path: str) -> None:
    """Look for what a folder must hold, before an engine takes many seconds to miss it.

    Raises:
        ModelError: something is missing, with what to do.
    """
    folder = Path(path)
    if not folder.is_dir():
        return
    try:
        config = read_config(path)
    except (OSError, ValueError) as error:
        raise ModelError(f"the config.json of {name!r} cannot be read: {error}") from error
    if not config.get("architectures"):
        raise ModelError(f"the config.json of {name!r} names no architecture; take the model's own file")
    if not any(any(folder.glob(pattern)) for pattern in WEIGHTS):
        raise ModelError(f"the folder {name!r} holds no weights ({', '.join(WEIGHTS)}){_gguf_hint(folder)}")
    if not any((folder / each).is_file() for each in TOKENIZERS):
        raise ModelError(f"the folder {name!r} holds no tokenizer ({', '.join(TOKENIZERS[:3])})")


def start_hint(path: str) -> str:
    """What to look at where vLLM could not start a model."""
    if not os.path.isdir(path):
        return (
            "a hub id needs the network, its exact name, and for a gated model HF_TOKEN; or fetch the model "
            "elsewhere and give its folder"
        )
    named = ", ".join(read_config(path).get("architectures") or ())
    return f"its config.json names {named}: vLLM's list of supported models says whether it runs that"


def _gguf_hint(folder: Path) -> str:
    if not any(folder.glob("*.gguf")):
        return "; were they left out when it was copied or fetched?"
    return "; serve its GGUF file with llama.cpp or ollama, and give that server's URL"


def describe(engine: LocalEngine, running: RunningEngine, start_s: float) -> LocalModel:
    """What the engine that came up runs, and what was chosen for it."""
    config = running.client.vllm_config
    model, cache = config.model_config, config.cache_config
    number_format = str(model.dtype).removeprefix("torch.")
    size = size_of_model(engine.path, NUMBER_BYTES.get(number_format), running.max_model_len)
    chosen = running.variables
    return LocalModel(
        architecture=model.architectures[0],
        number_format=number_format,
        quantization=model.quantization,
        parameters=size and size.parameters,
        weight_bytes=size and size.weight_bytes,
        kv_bytes_per_token=size and size.kv_bytes,
        vocabulary=model.get_vocab_size(),
        context=running.max_model_len,
        kv_tokens=cache.kv_cache_size_tokens,  # a token takes a block in each group of layers
        threads=_num_threads(chosen),
        kv_gib=cache.kv_cache_memory_bytes and cache.kv_cache_memory_bytes / GIB,
        users_own=[name for name in cpu.VARIABLES if chosen and name not in chosen and os.environ.get(name)],
        template=template_of(running.client.get_tokenizer()),
        start_s=start_s,
    )


def _num_threads(variables: dict[str, str]) -> int | None:
    """Of the engine's process; None where relserve chooses none, as on a GPU."""
    text = variables.get(cpu.THREADS) or (os.environ.get(cpu.THREADS) if variables else None)
    return int(text) if text and text.isdigit() else None


def template_of(tokenizer: Any) -> ChatTemplate:
    """What a tokenizer's chat template does, by trying it."""
    encoder = PromptEncoder(tokenizer)
    if not encoder.has_template:
        return ChatTemplate(False, False, False)
    render: Callable[..., str] = tokenizer.apply_chat_template
    told = [{"role": "system", "content": "quartz"}, {"role": "user", "content": "basalt"}]
    try:
        takes_system = "quartz" in render(told, tokenize=False, add_generation_prompt=True)
    except Exception:  # templates refuse by errors of their own
        takes_system = False
    return ChatTemplate(True, takes_system, not encoder.why_it_cannot_think)
