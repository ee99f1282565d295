"""What relserve corrects in vLLM's CPU worker."""

from __future__ import annotations

import pytest


@pytest.mark.vllm
def test_ranks_of_tokens_are_counted_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = pytest.importorskip("relserve.vllm_plugin.cpu_worker", reason="vLLM is not installed")
    sampler = pytest.importorskip("vllm.v1.sample.sampler", reason="vLLM is not installed")
    torch = pytest.importorskip("torch")
    name = "batched_count_greater_than"
    monkeypatch.setattr(sampler, name, getattr(sampler, name))  # put back afterwards
    worker.rank_tokens_uncompiled()
    worker.rank_tokens_uncompiled()  # nothing more to do
    count = getattr(sampler, name)
    assert not hasattr(count, "_torchdynamo_orig_callable")
    logprobs = torch.tensor([[-1.0, -2.0, -3.0], [-3.0, -1.0, -1.0]])
    assert count(logprobs, torch.tensor([[-2.0], [-1.0]])).tolist() == [2, 2]
