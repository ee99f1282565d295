"""Lengths of prompts and outputs, in place of the data sets of the Apt-Serve paper (one of them is at hand).

`sharegpt` is drawn, not real: its means are those of ShareGPT in vLLM's paper (161 tokens in, 338 out), the
prompts log-normal with sigma 1.2, the outputs Gamma with shape 1.6, which are estimates. `chat` is real: the
conversations of Azure's trace, with longer prompts and shorter outputs. Both are pruned as vLLM's own
benchmark prunes ShareGPT, to prompts of at most 1,024 tokens.

`code` is HumanEval, its own 164 problems; the trace has characters, and a token is taken to be 2.6 of them
(an estimate for Python and OPT's tokenizer). `summarisation`, for LongBench, of which the paper says only
that prompts are much longer than ShareGPT's and outputs long too: the requests of Azure's conversations with
at least 700 prompt tokens. `meetings` are the only real summarisation lengths at hand, QMSum's (a part of
LongBench; 3 words are taken to be 4 tokens), cut to the context as LongBench does: prompts are then about
equally long, outputs short, and prefill, not memory, bounds the rate.

A request has at most 2,048 tokens, OPT's context: longer conversations are left out, longer meetings cut.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import cache
from math import ceil
from typing import NamedTuple

import numpy as np

from benchmarks.common import data_folder

CONTEXT = 2048
CHAT_PROMPT, LONG_PROMPT = 1024, 700
SHAREGPT_PROMPT, SHAREGPT_OUTPUT, SHAREGPT_COUNT = 161.31, 337.99, 20_000
CHARS_A_TOKEN, TOKENS_A_WORD = 2.6, 4 / 3


class RequestLengths(NamedTuple):
    """Tokens of one request."""

    num_prompt: int
    num_output: int


@cache
def _columns(file: str, prompt: str, output: str) -> tuple[tuple[int, int], ...]:
    with (data_folder() / "traces" / file).open(encoding="utf-8", newline="") as trace:
        return tuple((int(row[prompt]), int(row[output])) for row in csv.DictReader(trace))


def _sharegpt() -> list[RequestLengths]:
    """The means hold after pruning: what is drawn is scaled until they do."""
    rng = np.random.default_rng(1)
    prompts, outputs = rng.lognormal(0.0, 1.2, SHAREGPT_COUNT), rng.gamma(1.6, 1.0, SHAREGPT_COUNT)
    scale_in, scale_out = SHAREGPT_PROMPT / prompts.mean(), SHAREGPT_OUTPUT / outputs.mean()
    for _ in range(20):
        drawn = np.ceil(np.stack([prompts * scale_in, outputs * scale_out])).astype(int)
        kept = drawn[:, (drawn[0] <= CHAT_PROMPT) & (drawn.sum(axis=0) <= CONTEXT)]
        mean_in, mean_out = kept.mean(axis=1)
        scale_in, scale_out = scale_in * SHAREGPT_PROMPT / mean_in, scale_out * SHAREGPT_OUTPUT / mean_out
    return [RequestLengths(p, o) for p, o in kept.T.tolist()]


def _conversations() -> list[RequestLengths]:
    rows = _columns("AzureLLMInferenceTrace_conv.csv", "ContextTokens", "GeneratedTokens")
    return [RequestLengths(p, o) for p, o in rows if p and o and p + o <= CONTEXT]


def _chat() -> list[RequestLengths]:
    return [lengths for lengths in _conversations() if lengths.num_prompt <= CHAT_PROMPT]


def _summarisation() -> list[RequestLengths]:
    return [lengths for lengths in _conversations() if lengths.num_prompt >= LONG_PROMPT]


def _code() -> list[RequestLengths]:
    rows = _columns("humaneval_chars.csv", "prompt_chars", "solution_chars")
    return [RequestLengths(ceil(p / CHARS_A_TOKEN), ceil(o / CHARS_A_TOKEN)) for p, o in rows]


def _meetings() -> list[RequestLengths]:
    rows = _columns("qmsum_words.csv", "meeting_words", "answer_words")
    outputs = [ceil(words * TOKENS_A_WORD) for _, words in rows]
    prompts = [ceil(words * TOKENS_A_WORD) for words, _ in rows]
    return [RequestLengths(min(p, CONTEXT - o), o) for p, o in zip(prompts, outputs, strict=True)]


SETS: dict[str, Callable[[], list[RequestLengths]]] = {
    "sharegpt": _sharegpt, "chat": _chat, "code": _code, "summarisation": _summarisation,
    "meetings": _meetings,
}  # fmt: skip


@cache
def lengths_of(name: str) -> list[RequestLengths]:
    """All lengths of a set, a name of SETS, in the order of its file.

    Exits with a clear line where the data folder is absent.

    Raises:
        ValueError: no set has this name.
    """
    if name not in SETS:
        raise ValueError(f"no lengths are called {name!r}; there are {', '.join(SETS)}")
    return SETS[name]()
