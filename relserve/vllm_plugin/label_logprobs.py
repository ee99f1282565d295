"""Probabilities of a few tokens on a CPU, without making those of all others; alike but for the last digits.

Of a request for some tokens' probabilities, vLLM makes those of the whole vocabulary, for all rows of a step
at once, and counts ranks among them: at 150,000 tokens a millisecond a row, which is most of a small model's
time. Here a few rows at a time are summed up in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from relserve.vllm_plugin.host import LogprobsTensors

RAW = "raw_logprobs"
BLOCK = 2**18  # logits that are summed up together


def quicken_labels(theirs: Any) -> None:
    """Have a sampler of vLLM tell probabilities so, where all rows are greedy and their logits stay."""
    forward = theirs.forward

    def quickened(logits: torch.Tensor, sampling_metadata: Any, **more: Any) -> Any:
        asked = sampling_metadata.logprob_token_ids
        if more or not logits.is_cpu or theirs.logprobs_mode != RAW or not is_plain(sampling_metadata):
            return forward(logits, sampling_metadata, **more)
        output = forward(logits, replace(sampling_metadata, logprob_token_ids=None))
        output.logprobs_tensors = told(logits, asked, output.sampled_token_ids)
        return output

    theirs.forward = quickened


def is_plain(metadata: Any) -> bool:
    """Whether rows ask for tokens of their own, none for the most probable ones, and sampling only reads."""
    holder = getattr(metadata, "thinking_budget_state_holder", None)
    return bool(
        metadata.logprob_token_ids
        and metadata.max_num_logprobs is None
        and metadata.all_greedy
        and metadata.no_penalties
        and metadata.allowed_token_ids_mask is None
        and not metadata.bad_words_token_ids
        and not (holder is not None and holder.has_tracked_requests())
        and not any(map(_changes_logits, metadata.logitsprocs.non_argmax_invariant))
    )


def _changes_logits(processor: Any) -> bool:
    return bool(getattr(processor, "biases", getattr(processor, "min_toks", True)))


def told(logits: torch.Tensor, asked: Mapping[int, Sequence[int]], sampled: torch.Tensor) -> Any:
    """What vLLM's `gather_specific_token_logprobs` gives: log probabilities, and the sampled token's rank.

    Args:
        asked: tokens, by the number of the row.
        sampled: the most probable token of each row, as a column.
    """
    width = max(map(len, asked.values()))
    tokens = torch.cat((sampled.long(), torch.zeros((len(logits), width), dtype=torch.int64)), dim=1)
    is_asked = torch.zeros_like(tokens, dtype=torch.bool)
    is_asked[:, 0] = True
    for wanted, rows in _by_tokens(asked).items():
        tokens[rows, 1 : 1 + len(wanted)] = torch.tensor(wanted)
        is_asked[rows, 1 : 1 + len(wanted)] = True
    num_rows = max(1, BLOCK // logits.shape[1])
    blocks = zip(logits.split(num_rows), tokens.split(num_rows), strict=True)
    found, ranks = zip(*(_of_block(block.float(), its) for block, its in blocks), strict=True)
    logprobs = torch.cat(found).masked_fill(~is_asked, -torch.inf)
    return LogprobsTensors(tokens.to(torch.int32), logprobs, torch.cat(ranks))


def _by_tokens(asked: Mapping[int, Sequence[int]]) -> dict[tuple[int, ...], list[int]]:
    """The rows that ask for the same tokens, such as all of a relQuery."""
    found: dict[tuple[int, ...], list[int]] = {}
    for row, tokens in asked.items():
        found.setdefault(tuple(tokens), []).append(row)
    return found


def _of_block(logits: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Log probabilities of each row's tokens, the first of which is the most probable, and its rank."""
    top = logits.gather(-1, tokens[:, :1])
    others = (logits - top).exp_().sum(dim=-1, keepdim=True).log_()
    pairs = zip(logits.numpy(), top.numpy(), strict=True)
    ranks = torch.tensor([np.count_nonzero(row >= value) for row, value in pairs])
    return logits.gather(-1, tokens) - top - others, ranks
