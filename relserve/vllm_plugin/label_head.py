"""Logits of a few tokens alone, on a CPU: of rows that ask how probable some labels are beside each other.

Nothing else is read of such a row. With 150,000 tokens in the vocabulary, the logits of all of them, their
sum and their greatest are a third of a small model's time.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import torch
from torch.nn import functional

from relserve.call.rel_tag import SHARES
from relserve.vllm_plugin.label_logprobs import is_plain, told

_IDS = "relserve_ids"  # an attribute of logits: the tokens that they are of
NUM_TRIED = 5  # tokens, by which a model is tried

log = logging.getLogger(__name__)


class LabelHead:
    """`compute_logits` of a model, which gives those of the asked tokens where all rows of a step ask so."""

    def __init__(self, runner: Any, model: Any) -> None:
        self._runner, self._head, self._compute = runner, model.lm_head, model.compute_logits

    def __call__(self, hidden_states: torch.Tensor, *more: Any, **how: Any) -> Any:
        if (ids := asked_ids(self._runner)) is None:
            return self._compute(hidden_states, *more, **how)
        return self.of(ids, hidden_states, *more, **how)

    def of(self, ids: torch.Tensor, hidden_states: torch.Tensor, *more: Any, **how: Any) -> Any:
        """The logits of these tokens; what is done with logits besides is the model's own code."""
        theirs = self._head.quant_method
        self._head.quant_method = SimpleNamespace(
            apply=lambda head, x, bias=None: functional.linear(
                x, head.weight[ids], None if bias is None else bias[ids]
            )
        )
        try:
            logits = self._compute(hidden_states, *more, **how)
        finally:
            self._head.quant_method = theirs
        setattr(logits, _IDS, ids)
        return logits

    def agrees(self) -> bool:
        """Whether this model's logits are the same so, as far as a few random rows tell."""
        weight = self._head.weight
        rows = torch.randn((2, weight.shape[1]), generator=torch.Generator().manual_seed(1)).to(weight.dtype)
        ids = torch.linspace(0, weight.shape[0] // 2, NUM_TRIED).long()
        expected, found = self._compute(rows)[:, ids].float(), self.of(ids, rows).float()
        return bool(torch.allclose(expected, found, rtol=1e-2, atol=1e-3 * float(expected.abs().max())))


def narrow(runner: Any, model: Any) -> bool:
    """Have a model compute logits so, if it can; whether it can."""
    try:
        head = LabelHead(runner, model)
        if type(model.lm_head.quant_method).__name__ != "UnquantizedEmbeddingMethod" or not head.agrees():
            return False
    except Exception as error:  # a model without such a head
        log.debug("logits of labels alone: %r", error)
        return False
    forward = runner.sampler.forward

    def sampled(logits: torch.Tensor, sampling_metadata: Any, **more: Any) -> Any:
        if (ids := getattr(logits, _IDS, None)) is None:
            return forward(logits, sampling_metadata, **more)
        return sampled_among(ids, forward, logits, sampling_metadata)

    runner.sampler.forward, model.compute_logits = sampled, head
    return True


def asked_ids(runner: Any) -> torch.Tensor | None:
    """The tokens of which the rows of a step want the shares; None where a row wants anything else."""
    batch = runner.input_batch
    metadata, num_rows = batch.sampling_metadata, batch.num_reqs
    asked = metadata.logprob_token_ids
    if not asked or len(asked) < num_rows or not is_plain(metadata):
        return None
    for request_id in batch.req_ids[:num_rows]:
        if SHARES not in (runner.requests[request_id].sampling_params.extra_args or ()):
            return None
    return torch.tensor(sorted({token for tokens in asked.values() for token in tokens}))


def sampled_among(ids: torch.Tensor, forward: Any, logits: torch.Tensor, metadata: Any) -> Any:
    """What a sampler's `forward` gives for the logits of these tokens alone.

    Log probabilities are those among the tokens that the step's rows ask about.
    """
    output = forward(logits, replace(metadata, logprob_token_ids=None))
    places = {token: place for place, token in enumerate(ids.tolist())}
    asked: Mapping[int, Sequence[int]] = {
        row: [places[token] for token in tokens] for row, tokens in metadata.logprob_token_ids.items()
    }
    found = told(logits, asked, output.sampled_token_ids)
    is_asked = found.logprobs > -torch.inf
    tokens = ids[found.logprob_token_ids.long()].masked_fill(~is_asked, 0).to(torch.int32)
    output.sampled_token_ids = ids[output.sampled_token_ids.long()].to(torch.int32)
    output.logprobs_tensors = found._replace(logprob_token_ids=tokens)
    return output
