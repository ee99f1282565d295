"""Logits of the asked tokens alone: the same shares as of all logits, and only where nobody wants more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.modules import later
from tests.vllm_plugin.test_label_logprobs import ASKED, ROWS, TOKENS, metadata_of, sampler_of_vllm

torch = later("torch")

pytestmark = pytest.mark.vllm

WIDTH = 8
ALL = {row: [[5, 9], [7, 99_999, 3]][row % 2] for row in range(ROWS)}


class UnquantizedEmbeddingMethod:
    """As vLLM's."""

    def apply(self, head: Any, x: Any, bias: Any = None) -> Any:
        return torch.nn.functional.linear(x, head.weight, bias)


class Model:
    """A head of so many tokens, whose logits are capped, as some models do."""

    def __init__(self) -> None:
        weight = torch.randn((TOKENS, WIDTH), generator=torch.Generator().manual_seed(1))
        self.lm_head = SimpleNamespace(weight=weight, quant_method=UnquantizedEmbeddingMethod())

    def compute_logits(self, hidden: Any) -> Any:
        logits = self.lm_head.quant_method.apply(self.lm_head, hidden)
        return torch.tanh(logits / 30) * 30


class Shifted(Model):
    """One that adds something else to each token's logit."""

    def compute_logits(self, hidden: Any) -> Any:
        logits = super().compute_logits(hidden)
        return logits + torch.arange(logits.shape[1])


def runner_of(shares: tuple[bool, ...] = (True,) * ROWS, **fields: Any) -> Any:
    """A runner in a step whose rows want shares, or more."""
    metadata = metadata_of(**({"logprob_token_ids": ALL} | fields))
    asks = [SimpleNamespace(extra_args={"rel_shares": 1} if each else None) for each in shares]
    requests = {str(row): SimpleNamespace(sampling_params=each) for row, each in enumerate(asks)}
    batch = SimpleNamespace(sampling_metadata=metadata, num_reqs=ROWS, req_ids=list(requests))
    return SimpleNamespace(input_batch=batch, requests=requests, sampler=sampler_of_vllm())


def narrowed(model: Any, runner: Any) -> bool:
    return bool(pytest.importorskip("relserve.vllm_plugin.label_head").narrow(runner, model))


def hidden_states() -> Any:
    return torch.randn((ROWS, WIDTH), generator=torch.Generator().manual_seed(2))


def test_shares_are_those_of_all_logits() -> None:
    plain, model, runner = Model(), Model(), runner_of()
    assert narrowed(model, runner)
    metadata = runner.input_batch.sampling_metadata
    logits = model.compute_logits(hidden_states())
    assert logits.shape == (ROWS, 5)
    assert type(model.lm_head.quant_method) is UnquantizedEmbeddingMethod
    found = runner.sampler(logits=logits, sampling_metadata=metadata)
    expected = sampler_of_vllm()(logits=plain.compute_logits(hidden_states()), sampling_metadata=metadata)
    for row, tokens in ALL.items():
        of = [
            dict(zip(each.logprob_token_ids[row].tolist(), each.logprobs[row].tolist(), strict=True))
            for each in (found.logprobs_tensors, expected.logprobs_tensors)
        ]
        mine, its = (torch.tensor([each[token] for token in tokens]).softmax(0) for each in of)
        assert torch.allclose(mine, its, atol=1e-5)
        assert int(found.sampled_token_ids[row]) in {5, 9, 7, 99_999, 3}


@pytest.mark.parametrize(
    ("shares", "fields"),
    [
        ((True,) * (ROWS - 1) + (False,), {}), ((False,) * ROWS, {}),
        ((True,) * ROWS, {"logprob_token_ids": ASKED}),  # not of all rows
        ((True,) * ROWS, {"logprob_token_ids": None}), ((True,) * ROWS, {"all_greedy": False}),
    ],
)  # fmt: skip
def test_where_a_row_wants_more_all_logits_are_computed(
    shares: tuple[bool, ...], fields: dict[str, Any]
) -> None:
    model, runner = Model(), runner_of(shares, **fields)
    assert narrowed(model, runner)
    logits = model.compute_logits(hidden_states())
    assert torch.equal(logits, Model().compute_logits(hidden_states()))
    assert not hasattr(logits, "relserve_ids")


def test_a_model_of_another_kind_is_left_as_it_is() -> None:
    quantized = Model()
    quantized.lm_head.quant_method = SimpleNamespace(apply=UnquantizedEmbeddingMethod().apply)
    for model in (Shifted(), quantized, SimpleNamespace(compute_logits=None)):
        before = model.compute_logits
        assert not narrowed(model, runner_of())
        assert model.compute_logits == before
