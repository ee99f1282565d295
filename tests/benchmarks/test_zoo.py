"""The made-up models: built once, small, with as many tokens as real ones, and no text is lost in them."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.zoo import NAMES, build
from benchmarks.zoo.builder import FOLDER, megabytes
from benchmarks.zoo.recipes import RECIPES
from tests.forked import run_here
from tests.modules import later
from tests.prepared import PreparedProcess
from tests.waiting import PATIENCE_S

transformers = later("transformers")


TEXT = (
    "The soup was warm; 12.5 € for “déjà vu”?\n\n\tdef f(x): return {'a': [1, 2]}  "
    "🙂🧑‍🚀 日本語 नमस्ते \x00 \ufffd end "
)
IN_EVERY_RUN = ("phi3",)


@pytest.fixture(
    scope="module",
    params=[pytest.param(n, marks=[] if n in IN_EVERY_RUN else [pytest.mark.long]) for n in NAMES],
)
def name(request: Any) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def tokenizer(name: str) -> Any:
    return transformers.AutoTokenizer.from_pretrained(build(name))


def test_a_model_is_small_and_built_once(name: str) -> None:
    folder = build(name)
    assert megabytes(folder) < 20
    assert build(name) == folder
    assert folder.parent == FOLDER


@pytest.mark.cells(1)
def test_a_tokenizer_has_the_models_tokens(name: str, tokenizer: Any) -> None:
    config = transformers.AutoConfig.from_pretrained(build(name))
    assert config.vocab_size == RECIPES[name].vocab_size
    assert 0.95 * config.vocab_size < len(tokenizer) <= config.vocab_size
    assert max(tokenizer.get_vocab().values()) == len(tokenizer) - 1
    assert config.eos_token_id == tokenizer.eos_token_id
    assert bool(tokenizer.chat_template) == bool(RECIPES[name].template)


def test_a_text_is_lost_in_no_tokenizer(tokenizer: Any) -> None:
    @given(st.text(st.characters(exclude_characters="▁", exclude_categories=["Cs"]), max_size=40))
    def is_the_same(text: str) -> None:
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert tokenizer.decode(ids) == text

    assert tokenizer.decode(tokenizer(TEXT, add_special_tokens=False)["input_ids"]) == TEXT
    is_the_same()


def test_words_are_tokens(tokenizer: Any) -> None:
    text = "Is this a good review? The soup was warm."
    assert len(tokenizer(text, add_special_tokens=False)["input_ids"]) <= len(text) / 2


@pytest.mark.long
def test_templates_are_of_the_real_form() -> None:
    tokenizer_of = cache(lambda name: transformers.AutoTokenizer.from_pretrained(build(name)))

    def rendered(name: str, *roles: str, **kwargs: Any) -> str:
        conversation = [{"role": role, "content": f"{role} text"} for role in roles]
        text: str = tokenizer_of(name).apply_chat_template(
            conversation, tokenize=False, add_generation_prompt=True, **kwargs
        )
        return text

    assert rendered("qwen3", "user").endswith("<|im_start|>assistant\n")
    assert rendered("qwen3", "user", enable_thinking=False).endswith("<think>\n\n</think>\n\n")
    for name in ("gemma3", "mixtral"):
        assert "user text" in rendered(name, "user")
        with pytest.raises(Exception, match=r"not supported|are supported|must alternate"):
            rendered(name, "system", "user")


@pytest.mark.long
def test_two_processes_build_the_same_model_at_once(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys; from benchmarks.zoo import builder; "
        "builder.FOLDER = pathlib.Path(sys.argv[1]); print(builder.build('llama2'))"
    )
    folder, out, err = tmp_path / "models", tmp_path / "out", tmp_path / "err"
    what = (code, (str(folder),), dict(os.environ), str(out), str(err))
    started = [PreparedProcess(target=run_here, args=what) for _ in range(2)]
    for process in started:
        process.start()
    for process in started:
        process.join(2 * PATIENCE_S)
    assert [process.exitcode for process in started] == [0, 0], err.read_text()
    one, other = out.read_text().splitlines()
    assert one == other
    assert os.listdir(folder) == [Path(one).name]
