"""What it takes to ask prompts: the tokens that the model will likely read and write, and their price."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import ceil
from typing import NamedTuple

from relserve.call.relquery import Sampling, Submission
from relserve.call.token_counts import CHARS_A_TOKEN
from relserve.engines.protocol import Encoder
from relserve.policies.model.lengths import LengthLearner
from relserve.policies.model.linear import CostModel

WRITTEN_PRICE = 8.0  # of a token that the model writes, in tokens that it reads, where nothing was measured


class ExpectedWork(NamedTuple):
    """What an engine would have to do: prompts, their tokens to compute, likely output tokens of each."""

    num_prompts: int
    prompt_tokens: float
    output_tokens: float


class LikelyOutput(NamedTuple):
    """Output tokens of one prompt on average, and of the longest of them; whether earlier answers told."""

    mean: float
    longest: float
    is_learnt: bool


def expected_output(sampling: Sampling, encoder: Encoder | None = None) -> int:
    """Tokens that one answer likely has.

    Of a choice, a number or a date those of the longest as the tokenizer writes it, and an end; of any other
    the most that it may have. Thoughts are taken to use up what they may.
    """
    cap, grammar = sampling.answer_cap, sampling.grammar
    num_tokens = _by_characters if encoder is None else encoder.num_tokens
    longest = None if grammar is None else grammar.most_tokens(num_tokens)
    return sampling.thinking + (cap if longest is None else min(cap, longest))


def learnt_output(submission: Submission, lengths: LengthLearner, num_prompts: int) -> LikelyOutput | None:
    """What answers to calls of the same kind tell of so many prompts; None where there were none.

    Nor do they tell where choices are scored, of which an answer is not what the engine writes.
    """
    tag, sampling = submission.tag(), submission.sampling
    rows = None if tag.kind is None else lengths.kinds.get(tag.kind)
    if rows is None or not rows.num_ended or sampling.with_confidence or sampling.read:
        return None
    found = lengths.of(tag.kind, tag.output_cap, tag.likely)
    num_requests = 2 if sampling.thinking else 1  # of a prompt: thoughts are one of their own
    longest = num_requests * found.longest_left(0, num_requests * num_prompts)
    return LikelyOutput(num_requests * found.row, longest, True)


def _by_characters(texts: Sequence[str]) -> list[int]:
    return [ceil(len(text.encode(errors="replace")) / CHARS_A_TOKEN) for text in texts]


def expected_work(prompts: Collection[str], sampling: Sampling) -> ExpectedWork:
    """The work of asking these prompts, by their characters."""
    prompt_tokens = sum(map(len, prompts)) / CHARS_A_TOKEN
    return ExpectedWork(len(prompts), prompt_tokens, expected_output(sampling))


def price(work: ExpectedWork, cost: CostModel | None = None) -> float:
    """The price of work in tokens read.

    Args:
        cost: a calibrated cost model; its slopes (RelServe, Eq. 9) tell what a token written costs.
    """
    if cost is None or cost.prefill_per_token_s <= 0:
        return work.prompt_tokens + WRITTEN_PRICE * work.num_prompts * work.output_tokens
    return slopes_s(work, cost) / cost.prefill_per_token_s


def slopes_s(work: ExpectedWork, cost: CostModel) -> float:
    """Seconds of work by a cost model's slopes alone (RelServe, Eq. 9), without the bases of its steps."""
    read_s = cost.prefill_per_token_s * work.prompt_tokens
    return read_s + cost.decode_per_request_s * work.num_prompts * work.output_tokens
