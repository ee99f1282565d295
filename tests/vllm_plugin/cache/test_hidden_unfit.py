"""Real engines that cannot keep hidden states: one line says why, and they are vLLM's own in all they do."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from relserve.errors import EngineStartError
from relserve.vllm_plugin import register
from relserve.vllm_plugin.cache.engine_config import prepare
from tests.vllm_plugin.cache.hybrid_engines import build_model, environment, said, scheduler_of, start, work
from tests.vllm_plugin.cache.unfit_models import build_unfit

pytestmark = [pytest.mark.vllm, pytest.mark.engine_of_its_own]


class Unfit(NamedTuple):
    """A model, arguments of its engine, and what the line says."""

    model: str
    arguments: dict[str, Any]
    words: str


IN_ENGINES = {
    "grouped heads": Unfit(
        "grouped", {},
        "2 heads of keys: a token's keys and values are 128 numbers, a layer's input is 128, not half as many"
        " or fewer",
    ),
    "blocks of 33": Unfit("opt", {"block_size": 33}, "blocks of 33 tokens (a multiple of 32 is needed)"),
}  # fmt: skip
# They differ in what vLLM's own configuration says; test_hidden_forbidden has all reasons on made-up ones.
IN_CONFIGURATIONS = {
    "weights in int8": Unfit("int8", {"dtype": "bfloat16"}, "weights quantised"),  # not float32: AMX
    "a cache in fp8": Unfit("opt", {"kv_cache_dtype": "fp8"}, "a KV cache in fp8"),
    "sliding windows": Unfit("sliding", {}, "sliding windows"),
    "LoRA": Unfit("opt", {"enable_lora": True}, "LoRA"),
    "two devices": Unfit("opt", {"tensor_parallel_size": 2}, "tensor parallelism"),
}


@contextmanager
def engine(model: Path, cache: str | None, **given: Any) -> Iterator[Any]:
    """An engine, which ends."""
    with environment():
        llm = start(model, cache, **given)
        try:
            yield llm
        finally:
            llm.llm_engine.engine_core.shutdown()


class Outcome(NamedTuple):
    """What an engine said, with what scheduler; or why it did not start."""

    tokens: list[tuple[int, ...]]
    scheduler: type | None
    error: str


def outcome(model: Path, cache: str | None, given: dict[str, Any]) -> Outcome:
    """Start an engine and ask it."""
    kinds = ("hidden", "kv") if cache else ()
    try:
        with engine(model, cache, **given) as llm:
            return Outcome(said(llm, work(kinds, num=10)), type(scheduler_of(llm)), "")
    except (ValueError, NotImplementedError) as error:
        return Outcome([], None, f"{type(error).__name__}: {error}")


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == prepare.__module__]


@pytest.mark.parametrize("case", IN_ENGINES)
def test_it_says_why_in_one_line_and_is_stock(
    case: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model, given, words = IN_ENGINES[case]
    path = build_unfit(model, tmp_path)
    stock = outcome(path, None, given)
    caplog.set_level(logging.WARNING, logger=prepare.__module__)
    caplog.clear()
    asked = outcome(path, "hidden", given)
    assert lines(caplog) == [f"the cache holds keys and values only, not 'hidden', because of {words}"]
    assert asked == stock
    if case == "blocks of 33":  # refused by vLLM itself
        assert "block size" in stock.error
    else:
        assert len(set(stock.tokens)) == 10


@pytest.mark.parametrize("case", IN_CONFIGURATIONS)
def test_vllms_own_configuration_tells_it(
    case: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    vllm = pytest.importorskip("vllm", reason="vLLM is not installed")
    model, given, words = IN_CONFIGURATIONS[case]
    register()
    caplog.set_level(logging.WARNING, logger=prepare.__module__)
    wanted = {"additional_config": {"relserve": {"cache": "hidden"}}, "enforce_eager": True, "block_size": 32}
    with environment():
        config = vllm.EngineArgs(str(build_unfit(model, tmp_path)), **wanted, **given).create_engine_config()
    assert lines(caplog) == [f"the cache holds keys and values only, not 'hidden', because of {words}"]
    assert config.additional_config["relserve"]["cache"] == "kv"
    assert config.model_config.hf_config.architectures[0] in ("OPTForCausalLM", "LlamaForCausalLM")


@pytest.mark.parametrize("cache", ["hidden", "hybrid"])
def test_memory_for_less_than_one_request_is_an_error_at_start(tmp_path: Path, cache: str) -> None:
    path = build_model("opt", tmp_path)
    with (
        pytest.raises((EngineStartError, ValueError), match=r"max.model.len") as raised,
        engine(path, cache, num_gpu_blocks_override=9),
    ):
        pass
    assert "512" in str(raised.value)


def test_another_attention_backend_is_an_error_at_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from relserve.vllm_plugin.cache import models

    monkeypatch.setattr(models, "PlatformAttention", Unfit)
    with (
        pytest.raises(EngineStartError, match=r"backend CPU_ATTN.* with --attention-backend CPU_ATTN"),
        engine(build_model("opt", tmp_path), "hidden"),
    ):
        pass
