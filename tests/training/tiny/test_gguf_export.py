"""The embedded model as GGUF: llama.cpp reads the same tokens and answers with the same as transformers."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from relserve.tiny import MODEL_DIR
from tests.llama_cpp import LlamaCppServer, tiny_as_gguf
from tests.waiting import PATIENCE_S
from training.tiny.prompts import chat

pytestmark = pytest.mark.long

NUM_TOKENS = 24
REVIEWS = ("I loved the room; the staff was rude though.", "Never again!", "I'LL be back, we've said so")
PROMPTS = [
    *(f"Answer with exactly one of: positive, negative.\nIs it positive? {review}" for review in REVIEWS),
    *(f"Answer with a number from 0 to 10.\nHow warm is {i}.{i * 7} degrees?" for i in range(6)),
    *(f"Which product is it? Order #{8317 * i}: {i} x tea, shipped 2023-04-{i:02}" for i in range(1, 7)),
    "", " ", "🦆🧑\u200d🚀 ünïcödé", "line\r\nline\t \n\n  end", "中文字符 123 テスト",
    "%s {} {{ }} \u202eback", "word " * 300,
]  # fmt: skip
# Our tokenizer leaves the space with such a number; llama.cpp knows no cutter that does.
OTHERWISE = "2 ⅓ cups"
LIKELIEST = {"temperature": 0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repeat_penalty": 1.0}


@pytest.fixture(scope="module")
def expected() -> list[list[list[int]]]:
    """Tokens of each prompt, and those that transformers answers with."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(MODEL_DIR)
    model = transformers.AutoModelForCausalLM.from_pretrained(MODEL_DIR, dtype=torch.float32).eval()
    found = []
    for prompt in PROMPTS:
        tokens = tokenizer.encode(chat(prompt))
        made = model.generate(torch.tensor([tokens]), max_new_tokens=NUM_TOKENS, do_sample=False)
        found.append([tokens, made[0].tolist()[len(tokens) :]])
    return found


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Callable[[str], LlamaCppServer]]:
    """serving(format): llama.cpp's server of the model with numbers of that format."""
    servers: list[LlamaCppServer] = []

    def started(number_format: str) -> LlamaCppServer:
        path = tiny_as_gguf(tmp_path / "tiny.gguf", number_format)
        servers.append(LlamaCppServer(path, tmp_path / "serve.log"))
        servers[0].ensure_up()
        return servers[0]

    yield started
    for server in servers:
        server.stop()


def told(server: LlamaCppServer, path: str, body: dict[str, Any] | None = None) -> Any:
    """What the server answers at a path of its own."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(server.url.removesuffix("/v1") + path, data)
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
        return json.load(response)


def tokens_of(server: LlamaCppServer, prompt: str) -> list[int]:
    asked = {"content": prompt, "add_special": False, "parse_special": True}
    return told(server, "/tokenize", asked)["tokens"]


@pytest.mark.parametrize("number_format", ["F32", "F16"])
def test_llama_cpp_answers_as_transformers_does(serving, expected, number_format):
    server = serving(number_format)
    found = []
    for prompt in PROMPTS:
        tokens = tokens_of(server, chat(prompt))
        asked = {"prompt": tokens, "n_predict": NUM_TOKENS, "return_tokens": True, **LIKELIEST}
        found.append([tokens, told(server, "/completion", asked)["tokens"]])
    assert found == expected
    assert told(server, "/props")["chat_template"] == (MODEL_DIR / "chat_template.jinja").read_text()


def test_what_llama_cpp_cuts_otherwise_is_read_all_the_same(serving):
    tokens = tokens_of(serving("F32"), OTHERWISE)
    tokenizer = pytest.importorskip("transformers").AutoTokenizer.from_pretrained(MODEL_DIR)
    assert tokenizer.decode(tokens) == OTHERWISE
    assert tokens != tokenizer.encode(OTHERWISE)
