"""Parts of a checkup by themselves: what is said of an engine that came up, and the functions asked once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

from relserve.api import ENGINES, connect
from relserve.call.options import FUNCTIONS
from relserve.call.relquery import Reply, Submission
from relserve.checkup import run, samples
from relserve.checkup.local_model import describe
from relserve.engines.local.engine import LocalEngine
from relserve.engines.scripted import ScriptedEngine
from relserve.errors import EngineDeadError, EngineStartError, Failure, FailureKind
from relserve.tiny import MODEL_DIR


def test_the_kv_cache_is_told_as_vllm_counts_it() -> None:
    """Where layers are in groups a token takes a block in each, so blocks alone would tell too much."""
    cache = SimpleNamespace(
        num_gpu_blocks=100, block_size=32, kv_cache_size_tokens=1600, kv_cache_memory_bytes=2**29
    )  # fmt: skip
    model = SimpleNamespace(
        dtype="torch.float32", architectures=["Gemma3ForCausalLM"], quantization=None,
        get_vocab_size=lambda: 8192,
    )  # fmt: skip
    client = SimpleNamespace(
        vllm_config=SimpleNamespace(model_config=model, cache_config=cache), get_tokenizer=lambda: None
    )
    running: Any = SimpleNamespace(client=client, max_model_len=512, variables={})
    described = describe(LocalEngine("tiny", str(MODEL_DIR)), running, 1.0)
    assert (described.kv_tokens, described.kv_gib, described.context) == (1600, 0.5, 512)


def test_every_function_has_a_sample() -> None:
    missing = {name for name, spec in FUNCTIONS.items() if not spec.model} - set(samples.CALLS)
    assert not missing, f"add a sample of {missing} to CALLS in relserve/checkup/samples.py"


class Dying(ScriptedEngine):
    """Dies of whatever it is asked."""

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        raise EngineDeadError("it died")
        yield []


class Refusing(ScriptedEngine):
    """Refuses every row."""

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        failure = Failure(FailureKind.REFUSED, "too rude")
        yield [Reply(index, None, failure) for index in range(len(submission.prompts))]


class NotStarted(LocalEngine):
    """vLLM does not come up."""

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        raise EngineStartError("no memory")
        yield []


def test_a_local_engine_that_does_not_start_is_told_with_what_to_look_at() -> None:
    ENGINES.put("mine", NotStarted("mine", str(MODEL_DIR)))
    try:
        with pytest.raises(EngineStartError, match=r"^no memory\nits config.json names LlamaForCausalLM: "):
            run.check("mine", lambda _: None)
    finally:
        ENGINES.close("mine")


def test_an_engine_that_dies_ends_a_checkup() -> None:
    with connect(engine=Dying(), progress=False, cache=False) as con:
        asked = samples.ask_all(con)
        with pytest.raises(EngineDeadError, match="it died"):
            next(asked)


def test_a_row_that_is_refused_does_not() -> None:
    with connect(engine=Refusing(), progress=False, cache=False) as con:
        asked = list(samples.ask_all(con))
    assert {sample.problem for sample in asked} == {"too rude", "question 'refund': too rude"}
    assert [sample.is_right for sample in asked if sample.expected] == [False] * 9


SAID = {
    "refund": "yes", "sentiment": "Negative", "stars": "1", "how many days": "2", "price": "19.90",
    "broken?": "true", "bought": '"2026-03-14"', "did it cost": "19.90 dollars",
    "longer": "1", "JSON like": '{"product": "Kettle ", "days": 2}',
}  # fmt: skip


def test_right_answers_are_right_however_they_are_written() -> None:
    def script(prompt: str, submission: Submission) -> str:
        question = prompt.replace(samples.TEXT, "")
        return next((said for word, said in SAID.items() if word in question), "A kettle broke.")

    with connect(engine=ScriptedEngine(script), progress=False, cache=False) as con:
        graded = {sample.function: sample.is_right for sample in samples.ask_all(con)}
    free = dict.fromkeys(("llm", "llm_agg", "llm_rank", "llm_prob", "llm_probs", "llm_tags", "llm_decide"))
    assert graded == {**dict.fromkeys(samples.CALLS, True), **free}
