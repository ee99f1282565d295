"""The engine that embeds texts in this process: the mean of their tokens' vectors."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import AsyncIterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from relserve.call.relquery import Reply, Submission, Usage
from relserve.call.vector_text import text_of_vector
from relserve.errors import EngineStartError, Failure, FailureKind, OptionError
from relserve.machine.word_vectors import EXTRA, NAME, find_files

BLOCK = 512  # texts that are embedded together, and then handed on

FloatArray = NDArray[np.float32]


class WordVectorEngine:
    """Embeds prompts by the vectors of `relserve.machine.word_vectors`; see `Engine`.

    The vector of a text is the mean of its tokens' vectors, of length 1. A text without a token has none.
    """

    model = NAME
    embeds = True

    def __init__(self) -> None:
        self._loading = threading.Lock()

    async def fingerprint(self) -> str | None:
        """See `Engine.fingerprint`: of the weights' file."""
        return await asyncio.to_thread(lambda: self._fingerprint)

    async def answer(self, submission: Submission) -> AsyncIterator[list[Reply]]:
        """See `Engine.answer`."""
        if not submission.sampling.embeds:
            raise OptionError(f"the model {NAME!r} gives vectors alone, to llm_embed(); name another model")
        for start in range(0, len(submission.prompts), BLOCK):
            prompts = submission.prompts[start : start + BLOCK]
            yield await asyncio.to_thread(self._replies, start, prompts)

    async def close(self) -> None:
        """See `Engine.close`."""
        with self._loading:
            self.__dict__.pop("_vectors", None)

    def _replies(self, start: int, prompts: Sequence[str]) -> list[Reply]:
        with self._loading:
            tokenizer, weights = self._vectors
        encoded = tokenizer.encode_batch([_encodable(prompt) for prompt in prompts], add_special_tokens=False)
        return [_reply(start + i, each.ids, weights) for i, each in enumerate(encoded)]

    @cached_property
    def _vectors(self) -> tuple[Any, FloatArray]:
        """The tokenizer, and a vector for each of its tokens."""
        files = find_files()
        try:
            from safetensors.numpy import load_file
            from tokenizers import Tokenizer
        except ImportError as error:
            raise EngineStartError(f"{NAME!r} cannot be read: {error}; {EXTRA}") from error
        (weights,) = load_file(files.weights).values()
        return Tokenizer.from_file(str(files.tokenizer)), weights.astype(np.float32)

    @cached_property
    def _fingerprint(self) -> str:
        return hashlib.sha256(Path(find_files().weights).read_bytes()).hexdigest()


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()


def _reply(index: int, tokens: Sequence[int], weights: FloatArray) -> Reply:
    text = text_of_vector(weights[tokens].mean(axis=0)) if tokens else None
    failure = Failure(FailureKind.REFUSED, "the text has no words to embed") if text is None else None
    return Reply(index, text, failure, Usage(prompt_tokens=len(tokens)))
