"""Batches of generated examples, grouped by length; batch k depends on the seed and k alone."""

from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

import torch
from transformers import PreTrainedTokenizerFast

from relserve.tiny.corpus.tasks import training_example
from relserve.tiny.prompts import chat

MAX_EXAMPLE_TOKENS = 768
_POOL_BATCHES = 16  # batches drawn and sorted by length together
SYSTEMS = (
    "You are a helpful assistant.", "You are a data analyst.", "Answer as simply as possible.",
    "Follow the instructions exactly.", "You label the rows of a table. Give the bare answer.",
    "Be strict about the output format.",
    "You are a helpful assistant that answers questions as simple as possible.\n"
    "Keep strictly to the asked output format.",
)  # fmt: skip


class Encoded(NamedTuple):
    """The token ids of an example, of which the last `num_answer` are its answer."""

    ids: list[int]
    num_answer: int


@dataclass(frozen=True)
class Batch:
    """Token ids (rows, columns), padded on the right, and the loss weight of predicting each of them."""

    ids: torch.Tensor
    weights: torch.Tensor

    @property
    def num_tokens(self) -> int:
        """Number of positions, padding included."""
        return self.ids.numel()


def make_batch(encoded: list[Encoded], pad_id: int, prompt_weight: float) -> Batch:
    """Pad encoded examples; an answer of n tokens weighs the root of n, each prompt token `prompt_weight`."""
    width = max(len(one.ids) for one in encoded)
    ids = torch.full((len(encoded), width), pad_id, dtype=torch.long)
    weights = torch.zeros(len(encoded), width)
    for row, one in enumerate(encoded):
        end = len(one.ids)
        ids[row, :end] = torch.tensor(one.ids)
        weights[row, 1 : end - one.num_answer] = prompt_weight
        weights[row, end - one.num_answer : end] = 1.0 / one.num_answer**0.5
    return Batch(ids, weights)


@dataclass
class Stream:
    """An endless stream of batches of about `batch_tokens` tokens; the first `easy_pools` pools are easy."""

    tokenizer: PreTrainedTokenizerFast
    seed: str
    batch_tokens: int
    prompt_weight: float
    easy_pools: int
    _pools: dict[int, list[list[Encoded]]] = field(default_factory=dict)

    def batch(self, step: int) -> Batch:
        """Return batch `step`."""
        pool, within = divmod(step, _POOL_BATCHES)
        if pool not in self._pools:
            self._pools = {pool: self._fill(pool)}
        return make_batch(self._pools[pool][within], self.tokenizer.pad_token_id, self.prompt_weight)

    def encode(self, seed: str, easy: bool) -> Encoded:
        """Tokenize the example of a seed, an eighth of them with a system message."""
        example = training_example(seed, easy)
        rng = Random(f"system-{seed}")
        system = rng.choice(SYSTEMS) if rng.random() < 0.12 else ""
        prompt = self.tokenizer(chat(example.user, system), add_special_tokens=False).input_ids
        answer = self.tokenizer(example.answer, add_special_tokens=False).input_ids
        return Encoded([*prompt, *answer, self.tokenizer.eos_token_id], len(answer) + 1)

    def _fill(self, pool: int) -> list[list[Encoded]]:
        """Draw examples until they fill the pool, sort them by length, cut them into equal parts."""
        drawn: list[Encoded] = []
        total, index = 0, 0
        while total < self.batch_tokens * _POOL_BATCHES:
            one = self.encode(f"{self.seed}-{pool}-{index}", pool < self.easy_pools)
            index += 1
            if len(one.ids) <= MAX_EXAMPLE_TOKENS:
                drawn.append(one)
                total += len(one.ids)
        drawn.sort(key=lambda one: len(one.ids))
        parts: list[list[Encoded]] = [[] for _ in range(_POOL_BATCHES)]
        done = 0
        for one in drawn:
            parts[min(_POOL_BATCHES - 1, done * _POOL_BATCHES // total)].append(one)
            done += len(one.ids)
        Random(f"{self.seed}-{pool}").shuffle(parts)
        return parts
