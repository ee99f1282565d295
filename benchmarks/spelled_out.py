"""The probability of a choice by brute force: every spelling in tokens, with transformers in float32."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from relserve.call.answer_types import Grammar

BATCH = 64


class BruteForce:
    """A model's probabilities of choices, by scoring every sequence of tokens that spells one.

    Args:
        path: the model's folder.
        choices: none of which begins another.
    """

    def __init__(self, path: Path, choices: Sequence[str]) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self._tokenizer = AutoTokenizer.from_pretrained(path)
        self._model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()
        self._texts = self._plain_tokens()
        self._paths = [
            [
                path
                for text, meant in Grammar(choices=tuple(choices)).written.items() if meant == choice
                for lead in ("", " ")
                for path in (self._spellings(lead + text) if text == choice else self._own(lead + text))
            ]
            for choice in choices
        ]  # fmt: skip

    @property
    def num_spellings(self) -> int:
        """Sequences of tokens of all choices."""
        return sum(map(len, self._paths))

    def _plain_tokens(self) -> dict[str, list[int]]:
        """The ids of ASCII tokens by their text, as they decode after another token."""
        size = self._model.config.get_text_config().vocab_size
        special = set(self._tokenizer.all_special_ids)
        (anchor,) = self._tokenizer("x", add_special_tokens=False)["input_ids"][-1:]
        shift = len(self._tokenizer.decode([anchor]))
        texts: dict[str, list[int]] = {}
        pairs = [[anchor, token] for token in range(min(size, len(self._tokenizer)))]
        for token, decoded in enumerate(self._tokenizer.batch_decode(pairs)):
            text = decoded[shift:]
            if token not in special and text.isascii() and text:
                texts.setdefault(text, []).append(token)
        return texts

    def _own(self, text: str) -> list[tuple[int, ...]]:
        """As the tokenizer itself cuts it, which alone counts with a capital letter."""
        return [tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"])]

    def _spellings(self, text: str, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
        if not text:
            yield path
        for end in range(1, len(text) + 1):
            for token in self._texts.get(text[:end], ()):
                yield from self._spellings(text[end:], (*path, token))

    @torch.inference_mode()
    def probabilities(self, ids: Sequence[int]) -> tuple[list[float], list[float]]:
        """Of each choice after a prompt: the sum of its spellings in proportion, and its likeliest alone."""
        each = self._each(ids)
        sums = torch.tensor([torch.logsumexp(torch.tensor(found), 0).item() for found in each])
        return torch.softmax(sums.double(), 0).tolist(), [float(torch.tensor(f).max().exp()) for f in each]

    @torch.inference_mode()
    def mass(self, ids: Sequence[int]) -> float:
        """Of all choices together after a prompt: the sum of all spellings."""
        return float(torch.tensor([p for found in self._each(ids) for p in found]).exp().sum())

    def _each(self, ids: Sequence[int]) -> list[list[float]]:
        """The log probability of each spelling of each choice after a prompt."""
        nexts: dict[tuple[int, ...], set[int]] = {}
        for path in (path for paths in self._paths for path in paths):
            for i, token in enumerate(path):
                nexts.setdefault(path[:i], set()).add(token)
        logprobs = self._logprobs(ids, nexts)
        return [
            [sum(logprobs[path[:i]][token] for i, token in enumerate(path)) for path in paths]
            for paths in self._paths
        ]

    def _logprobs(
        self, ids: Sequence[int], nexts: dict[tuple[int, ...], set[int]]
    ) -> dict[tuple[int, ...], dict[int, float]]:
        """The log probability of each next token after the prompt and each beginning of a spelling."""
        start = self._model.base_model(torch.tensor([ids]), use_cache=True)
        told = {(): self._told(start.last_hidden_state[0, -1], nexts[()])}
        begun = [path for path in nexts if path]
        for i in range(0, len(begun), BATCH):
            part = begun[i : i + BATCH]
            longest = max(map(len, part))
            tokens = torch.tensor([[*path, *[0] * (longest - len(path))] for path in part])
            mask = torch.tensor([[1] * (len(ids) + len(p)) + [0] * (longest - len(p)) for p in part])
            cache = copy.deepcopy(start.past_key_values)
            cache.batch_repeat_interleave(len(part))
            out: Any = self._model.base_model(
                tokens, attention_mask=mask, past_key_values=cache, use_cache=True
            )
            for row, path in enumerate(part):
                told[path] = self._told(out.last_hidden_state[row, len(path) - 1], nexts[path])
        return told

    def _told(self, hidden: torch.Tensor, tokens: set[int]) -> dict[int, float]:
        logits, wanted = self._model.get_output_embeddings()(hidden), sorted(tokens)
        return dict(zip(wanted, torch.log_softmax(logits.double(), -1)[wanted].tolist(), strict=True))
