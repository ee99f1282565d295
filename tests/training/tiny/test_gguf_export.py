"""The embedded model as GGUF: llama.cpp reads the same tokens and answers with the same as transformers."""

from __future__ import annotations

import json

import pytest

from relserve.tiny import MODEL_DIR
from tests.llama_cpp import run_python, tiny_as_gguf
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
READ = """
import json, sys
from llama_cpp import Llama
asked = json.load(sys.stdin)
llama = Llama(sys.argv[1], n_ctx=4096, n_threads=1, n_threads_batch=1, verbose=False)
found = []
for prompt in asked["prompts"]:
    tokens = llama.tokenize(prompt.encode(), add_bos=False, special=True)
    said = []
    for token in llama.generate(tokens, temp=0.0, top_k=0, top_p=1.0, min_p=0.0, repeat_penalty=1.0):
        said.append(token)
        if token == llama.token_eos() or len(said) == asked["num_tokens"]:
            break
    found.append([tokens, said])
print(json.dumps({"read": found, "metadata": llama.metadata}))
"""


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


@pytest.mark.parametrize("number_format", ["F32", "F16"])
def test_llama_cpp_answers_as_transformers_does(tmp_path, expected, number_format):
    path = tiny_as_gguf(tmp_path / "tiny.gguf", number_format)
    asked = json.dumps({"prompts": [chat(prompt) for prompt in PROMPTS], "num_tokens": NUM_TOKENS})
    told = json.loads(run_python("-c", READ, str(path), given=asked))
    assert told["read"] == expected
    assert told["metadata"]["tokenizer.chat_template"] == (MODEL_DIR / "chat_template.jinja").read_text()


def test_what_llama_cpp_cuts_otherwise_is_read_all_the_same(tmp_path):
    path = tiny_as_gguf(tmp_path / "tiny.gguf")
    told = json.loads(
        run_python("-c", READ, str(path), given=json.dumps({"prompts": [OTHERWISE], "num_tokens": 1}))
    )
    tokenizer = pytest.importorskip("transformers").AutoTokenizer.from_pretrained(MODEL_DIR)
    ((tokens, _),) = told["read"]
    assert tokenizer.decode(tokens) == OTHERWISE
    assert tokens != tokenizer.encode(OTHERWISE)
