"""Probabilities of a few tokens: the numbers that vLLM's own sampler tells, and when it is left to itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.modules import later

torch = later("torch")

pytestmark = pytest.mark.vllm

ROWS, TOKENS = 7, 100_000  # two rows are looked at together
ASKED = {0: [5, 9], 2: [7, 99_999, 3], 3: [5, 9], 6: [5, 9]}


class Processor:
    """One of logits, which leaves them as they are.

    Args:
        state: by its name.
    """

    def __init__(self, **state: Any) -> None:
        self.__dict__.update(state)

    def apply(self, logits: Any) -> Any:
        return logits


def metadata_of(*processors: Processor, **fields: Any) -> Any:
    """Of a step in which all rows are greedy and nothing changes their logits, but for what is told."""
    module = pytest.importorskip("vllm.v1.sample.metadata", reason="vLLM is not installed")
    plain: dict[str, Any] = dict(
        temperature=None, all_greedy=True, all_random=False, top_p=None, top_k=None, generators={},
        max_num_logprobs=None, no_penalties=True, prompt_token_ids=None, frequency_penalties=None,
        presence_penalties=None, repetition_penalties=None, output_token_ids=[], allowed_token_ids_mask=None,
        bad_words_token_ids={}, logprob_token_ids=ASKED,
        logitsprocs=SimpleNamespace(
            non_argmax_invariant=processors or [Processor(biases={}), Processor(min_toks={})]
        ),
    )  # fmt: skip
    return module.SamplingMetadata(**(plain | fields))


def sampler_of_vllm() -> Any:
    module = pytest.importorskip("vllm.v1.sample.sampler", reason="vLLM is not installed")
    pytest.importorskip("relserve.vllm_plugin.cpu_worker").rank_tokens_uncompiled()
    return module.Sampler()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rows_that_ask_are_told_the_same_numbers(dtype: str) -> None:
    theirs, ours = sampler_of_vllm(), sampler_of_vllm()
    pytest.importorskip("relserve.vllm_plugin.label_logprobs").quicken_labels(ours)
    logits = torch.randn((ROWS, TOKENS), generator=torch.Generator().manual_seed(1)).to(getattr(torch, dtype))
    logits[0, :20] = 9.0  # the most probable ones are alike
    expected, found = (
        each(logits=logits.clone(), sampling_metadata=metadata_of()) for each in (theirs, ours)
    )
    assert found.sampled_token_ids.tolist() == expected.sampled_token_ids.tolist()
    mine, its = (each.logprobs_tensors for each in (found, expected))
    assert mine.logprob_token_ids.tolist() == its.logprob_token_ids.tolist()
    assert mine.selected_token_ranks.tolist() == its.selected_token_ranks.tolist()
    assert mine.selected_token_ranks[0] == 20
    assert torch.allclose(mine.logprobs, its.logprobs, atol=1e-5, rtol=0)


@pytest.mark.parametrize(
    ("processors", "fields"),
    [
        ((), {"logprob_token_ids": None}), ((), {"max_num_logprobs": 3}), ((), {"all_greedy": False}),
        ((), {"no_penalties": False}), ((), {"bad_words_token_ids": {0: [[1]]}}),
        ((Processor(biases={1: {2: 3.0}}),), {}),
        ((Processor(),), {}),  # nobody knows what it does
    ],
)  # fmt: skip
def test_where_sampling_may_change_logits_vllm_is_left_to_itself(
    processors: tuple[Processor, ...], fields: dict[str, Any]
) -> None:
    is_plain = pytest.importorskip("relserve.vllm_plugin.label_logprobs").is_plain
    assert is_plain(metadata_of())
    assert not is_plain(metadata_of(*processors, **fields))
