"""Batches of generated examples, grouped by length; batch k depends on the seed and k alone."""

from dataclasses import dataclass
from random import Random

import torch

from relserve.tiny.corpus.tasks import training_example
from relserve.tiny.prompts import chat

MAX_EXAMPLE_TOKENS = 768
_POOL_BATCHES = 16  # batches drawn and sorted by length together


@dataclass(frozen=True)
class Batch:
    """Token ids (rows, columns), padded on the right, and the loss weight of predicting each of them."""

    ids: torch.Tensor
    weights: torch.Tensor

    @property
    def num_tokens(self) -> int:
        """Number of positions, padding included."""
        return self.ids.numel()


def encode_example(tokenizer, seed: str) -> tuple[list[int], int]:  # noqa: ANN001
    """Return the ids of one example and the number of them that belong to its answer."""
    example = training_example(seed)
    rng = Random(f"system-{seed}")  # noqa: S311
    system = rng.choice(SYSTEMS) if rng.random() < 0.12 else ""
    prompt = tokenizer(chat(example.user, system), add_special_tokens=False).input_ids
    answer = [*tokenizer(example.answer, add_special_tokens=False).input_ids, tokenizer.eos_token_id]
    return prompt + answer, len(answer)


SYSTEMS = (
    "You are a helpful assistant.", "You are a data analyst.", "Answer as simply as possible.", "Follow the instructions exactly.",
    "You label the rows of a table. Give the bare answer.", "Be strict about the output format.",
    "You are a helpful assistant that answers questions as simple as possible.\nKeep strictly to the asked output format.",
)  # fmt: skip


def make_batch(encoded: list[tuple[list[int], int]], pad_id: int, prompt_weight: float) -> Batch:
    """Pad encoded examples; each answer weighs 1 in all, a prompt token `prompt_weight` of an answer token."""
    width = max(len(ids) for ids, _ in encoded)
    ids = torch.full((len(encoded), width), pad_id, dtype=torch.long)
    weights = torch.zeros(len(encoded), width)
    for row, (tokens, num_answer) in enumerate(encoded):
        end = len(tokens)
        ids[row, :end] = torch.tensor(tokens)
        weights[row, 1 : end - num_answer] = prompt_weight
        weights[row, end - num_answer : end] = 1.0 / num_answer**0.5
    return Batch(ids, weights)


def batch_at(tokenizer, step: int, seed: str, batch_tokens: int, prompt_weight: float) -> Batch:  # noqa: ANN001
    """Return batch `step` of the stream named by `seed`; about `batch_tokens` positions wide and deep together."""
    pool, within = divmod(step, _POOL_BATCHES)
    batches = _pool(tokenizer, pool, seed, batch_tokens)
    return make_batch(batches[within], tokenizer.pad_token_id, prompt_weight)


_cache: dict[tuple[str, int, int], list[list[tuple[list[int], int]]]] = {}


def _pool(tokenizer, pool: int, seed: str, batch_tokens: int) -> list[list[tuple[list[int], int]]]:  # noqa: ANN001
    key = (seed, pool, batch_tokens)
    if key not in _cache:
        _cache.clear()
        _cache[key] = _fill_pool(tokenizer, pool, seed, batch_tokens)
    return _cache[key]


def _fill_pool(tokenizer, pool: int, seed: str, batch_tokens: int) -> list[list[tuple[list[int], int]]]:  # noqa: ANN001
    """Draw examples until they fill the pool, sort them by length and cut them into equal parts by tokens."""
    drawn, total, index = [], 0, 0
    while total < batch_tokens * _POOL_BATCHES:
        ids, num_answer = encode_example(tokenizer, f"{seed}-{pool}-{index}")
        index += 1
        if len(ids) <= MAX_EXAMPLE_TOKENS:
            drawn.append((ids, num_answer))
            total += len(ids)
    drawn.sort(key=lambda one: len(one[0]))
    parts: list[list[tuple[list[int], int]]] = [[] for _ in range(_POOL_BATCHES)]
    done = 0
    for one in drawn:
        parts[min(_POOL_BATCHES - 1, done * _POOL_BATCHES // total)].append(one)
        done += len(one[0])
    Random(f"{seed}-{pool}").shuffle(parts)  # noqa: S311
    return parts
