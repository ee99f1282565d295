"""What does not go with the hidden cache is said in one line, and vLLM stays as it is."""

from __future__ import annotations

import copy
import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from relserve_kernels import choice

from relserve.errors import EngineStartError, UsageError
from relserve.vllm_plugin import host
from relserve.vllm_plugin.cache import vllm_parts
from relserve.vllm_plugin.cache.engine_config import SCHEDULER, prepare
from relserve.vllm_plugin.cache.what_forbids import check_pool, what_forbids_hidden


@pytest.fixture(autouse=True)
def _heard(caplog: pytest.LogCaptureFixture) -> None:
    """Hear the line though an engine of the same process, which says it otherwise, keeps it off the log."""
    caplog.set_level(logging.WARNING, logger=prepare.__module__)


def made_up(**changes: Any) -> Any:
    """A configuration as vLLM makes it of an OPT model, as far as it is looked at.

    Args:
        changes: values in place of its own, by their names in any of its parts.
    """
    parts: dict[str, dict[str, Any]] = {
        "hf_config": {"architectures": ["OPTForCausalLM"]},
        "model_config": {
            "get_hidden_size": 512, "get_head_size": 64, "get_total_num_kv_heads": 8,
            "quantization": None, "get_sliding_window": None,
            "use_mla": False, "runner_type": "generate", "dtype": "torch.bfloat16", "enforce_eager": True,
        },
        "parallel_config": {
            "tensor_parallel_size": 1, "pipeline_parallel_size": 1, "decode_context_parallel_size": 1,
            "prefill_context_parallel_size": 1,
        },
        "cache_config": {"cache_dtype": "auto", "block_size": 32},
        "scheduler_config": {"scheduler_cls": None},
        "": {
            "speculative_config": None, "kv_transfer_config": None, "kv_events_config": None,
            "lora_config": None,
            "additional_config": {"relserve": {"cache": "hidden"}, "other": 1},
        },
    }  # fmt: skip
    for name, value in changes.items():
        [part] = [each for each in parts.values() if name in each]
        part[name] = value
    made = {
        name: SimpleNamespace(
            **{key: (lambda v=value: v) if key.startswith("get_") else value for key, value in part.items()}
        )
        for name, part in parts.items()
    }
    made["model_config"].hf_config = made.pop("hf_config")
    return SimpleNamespace(**vars(made.pop("")), **made)


@pytest.fixture
def tested_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "version", lambda: f"{vllm_parts.TESTED}.0+cpu")
    monkeypatch.setattr(host, "runs_on_cpu", lambda: True)


FORBIDDEN = {
    "8 heads of keys": {"get_hidden_size": 2048},
    "2 heads of keys": {"get_total_num_kv_heads": 2},
    "Qwen3ForCausalLM": {"architectures": ["Qwen3ForCausalLM"]},
    "weights quantised": {"quantization": "awq"},
    "sliding windows": {"get_sliding_window": 4096},
    "latent attention": {"use_mla": True},
    "embeds": {"runner_type": "pooling"},
    "tensor parallelism": {"tensor_parallel_size": 2},
    "pipeline parallelism": {"pipeline_parallel_size": 2},
    "context parallelism": {"decode_context_parallel_size": 2},
    "a KV cache in fp8": {"cache_dtype": "fp8"},
    "blocks of 48 tokens": {"block_size": 48},
    "speculative decoding": {"speculative_config": object()},
    "a KV connector": {"kv_transfer_config": object()},
    "events": {"kv_events_config": object()},
    "LoRA": {"lora_config": object()},
    "the scheduler their.own": {"scheduler_cls": "their.own"},
}


@pytest.mark.usefixtures("tested_release")
@pytest.mark.parametrize("word", FORBIDDEN)
def test_what_forbids_it_is_said_once_and_all_stays_stock(
    word: str, caplog: pytest.LogCaptureFixture
) -> None:
    config = made_up(**FORBIDDEN[word])
    before = copy.deepcopy((config.model_config.hf_config, config.scheduler_config))
    prepare(config)
    [line] = caplog.messages
    assert word in line
    assert line.startswith("the cache holds keys and values only, not 'hidden', because of ")
    assert (config.model_config.hf_config, config.scheduler_config) == before
    assert config.additional_config == {"relserve": {"cache": "kv"}, "other": 1}


@pytest.mark.usefixtures("tested_release")
def test_where_nothing_forbids_it_the_model_and_the_scheduler_are_ours(
    caplog: pytest.LogCaptureFixture,
) -> None:
    config = made_up()
    prepare(config)
    assert not caplog.messages
    assert config.model_config.hf_config.architectures == ["RelserveHybridOPT"]
    assert config.scheduler_config.scheduler_cls == SCHEDULER
    assert config.additional_config["relserve"]["cache"] == "hidden"  # torch.compile keys its cache by it
    ours = made_up(scheduler_cls="relserve.vllm_plugin.scheduler.make", cache_dtype="bfloat16")
    prepare(ours)
    assert ours.scheduler_config.scheduler_cls == "relserve.vllm_plugin.scheduler.make"


@pytest.mark.parametrize("version", ["0.31.1", "0.33.0", "0.26.0", "1.0"])
def test_on_another_release_it_is_off(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "version", lambda: version)
    [reason] = what_forbids_hidden(object())
    assert version in reason
    assert vllm_parts.TESTED in reason


@pytest.mark.usefixtures("tested_release")
def test_on_a_gpu_it_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "runs_on_cpu", lambda: False)
    for is_cuda, words in ((True, "a GPU: there it was tried only through"), (False, "neither a CPU nor")):
        monkeypatch.setattr(vllm_parts, "runs_on_cuda", lambda is_cuda=is_cuda: is_cuda)
        [reason] = what_forbids_hidden(made_up())
        assert words in reason


@pytest.mark.usefixtures("tested_release")
def test_on_a_gpu_who_asks_for_it_is_told_that_it_is_untried(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(host, "runs_on_cpu", lambda: False)
    monkeypatch.setattr(vllm_parts, "runs_on_cuda", lambda: True)
    monkeypatch.setattr(choice, "find_spec", lambda name: True)
    asked = {"additional_config": {"relserve": {"cache": "hidden", "kernels": "triton"}}}
    prepare(config := made_up(**asked))
    assert config.model_config.hf_config.architectures == ["RelserveHybridOPT"]
    [line] = caplog.messages
    assert "tried only through Triton's interpreter" in line
    assert what_forbids_hidden(made_up(**asked, enforce_eager=False)) == [
        "CUDA graphs (enforce_eager is needed)"
    ]


@pytest.mark.usefixtures("tested_release")
def test_kernels_that_cannot_run_here_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "find_spec", lambda name: True)
    monkeypatch.delenv(choice.INTERPRETER, raising=False)
    asked = made_up(additional_config={"relserve": {"cache": "hidden", "kernels": "triton"}})
    [reason] = what_forbids_hidden(asked)
    assert reason.startswith("kernels 'triton': on a CPU")
    with pytest.raises(UsageError, match="no kernels 'cuda'; there are: cpu, triton"):
        prepare(made_up(additional_config={"relserve": {"cache": "hidden", "kernels": "cuda"}}))


@pytest.mark.parametrize("additional", [{}, {"relserve": {}}, {"relserve": {"cache": "kv"}}, {"other": 1}])
def test_where_it_is_not_asked_for_nothing_is_looked_at(additional: Any) -> None:
    prepare(SimpleNamespace(additional_config=additional))


def test_an_unknown_cache_is_an_error() -> None:
    with pytest.raises(UsageError, match="no cache 'hiden'; there are: kv, hidden, hybrid"):
        prepare(made_up(additional_config={"relserve": {"cache": "hiden"}}))


def test_a_pool_smaller_than_one_request_is_an_error() -> None:
    check_pool(16, 32, 512)
    why = r"15 blocks of 32 tokens, .* \(any request may ask to keep keys and values\).* max_model_len to 480"
    with pytest.raises(EngineStartError, match=why):
        check_pool(15, 32, 512)


@pytest.mark.vllm
def test_vllms_own_configuration_is_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """On every release: on where it was tested, off elsewhere, with vLLM's own arguments."""
    vllm = pytest.importorskip("vllm", reason="vLLM is not installed")
    from relserve.tiny import MODEL_DIR
    from relserve.vllm_plugin import register

    register()
    fields = json.loads((MODEL_DIR / "config.json").read_text())
    for file in MODEL_DIR.glob("token*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())

    def config_of(num_key_value_heads: int, **given: Any) -> Any:
        written = {**fields, "num_key_value_heads": num_key_value_heads}
        (tmp_path / "config.json").write_text(json.dumps(written))
        wanted = {"relserve": {"cache": "hidden"}}
        arguments = {"dtype": "float32", "enforce_eager": True, "block_size": 32, **given}
        return vllm.EngineArgs(str(tmp_path), additional_config=wanted, **arguments).create_engine_config()

    is_on = vllm.__version__.startswith(f"{vllm_parts.TESTED}.") and host.runs_on_cpu()
    for heads, given, word in ((4, {}, ""), (2, {}, "2 heads of keys"), (4, {"enable_lora": True}, "LoRA")):
        caplog.clear()
        config = config_of(heads, **given)
        is_hidden = is_on and not word
        assert config.additional_config["relserve"]["cache"] == ("hidden" if is_hidden else "kv")
        expected = "RelserveHybridLlama" if is_hidden else "LlamaForCausalLM"
        assert config.model_config.hf_config.architectures == [expected]
        lines = [line for line in caplog.messages if "keys and values only" in line]
        assert len(lines) == (0 if is_hidden else 1)
        assert all((word if is_on else vllm.__version__) in line for line in lines)
