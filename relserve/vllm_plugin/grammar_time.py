"""Grammars that take too long a token: requests that have one end, for all rows of the engine wait meanwhile.

vLLM computes what a grammar allows between two steps, for one row after another. An ordinary grammar takes
0.05 to 0.3 ms a token. One with many ways to read the same text, such as `((((a+)+)+)+)+`, takes 100 ms, and
no limit on its size tells it from the others. Neither does one on its counts: over 262,144 tokens a mask of
`[a-z ]{0,5000}` takes 5 ms, and one of `[^\n]{1,2000}` 73 ms.
"""

from __future__ import annotations

import logging
import time
from functools import lru_cache
from typing import Any

from relserve.vllm_plugin.quoting import make_grammars

logger = logging.getLogger(__name__)

TOKEN_S = 0.005  # CPU time that a mask, or accepting a token, may take with a vocabulary of this size
VOCABULARY = 32_768
FREE_S = 0.5  # by which all requests with one grammar may be late in any case: the first masks take longest
MAX_KEPT = 256  # grammars whose time is remembered when their requests have ended
TOO_SLOW = "Grammar takes too long for request %s: over %.0f ms a token. Terminating request."


class GrammarTime:
    """How late all requests with one grammar are, in seconds of CPU time.

    Args:
        token_s: what a token may take.
    """

    def __init__(self, token_s: float) -> None:
        self.token_s, self._late_s = token_s, 0.0

    def spend(self, seconds: float, num_tokens: int = 1) -> None:
        """A mask, or so many tokens accepted, took so long; what takes less is no credit for later.

        Each has its allowance at once: masks of all rows come before the first of their tokens.
        """
        self._late_s = max(0.0, self._late_s + seconds - self.token_s * num_tokens)

    @property
    def is_over(self) -> bool:
        """Whether these requests are to end."""
        return self._late_s > FREE_S


class Masking:
    """Whether vLLM computes masks now, and tries drafts for them.

    From 0.26 to 0.29 it takes a draft that is refused for an error of its own, and the engine dies.
    """

    def __init__(self) -> None:
        self.is_on = False

    def during(self, masks: Any) -> Any:
        """The same method that computes masks."""

        def told(*args: Any, **kwargs: Any) -> Any:
            self.is_on = True
            try:
                return masks(*args, **kwargs)
            finally:
                self.is_on = False

        return told


def bound_time(manager: Any) -> None:
    """Have vLLM's manager of grammars end the requests whose grammar takes too long, with an error."""
    masking = Masking()

    @lru_cache(MAX_KEPT)
    def time_of(kind: Any, grammar: str) -> GrammarTime:
        size = manager.vllm_config.model_config.get_vocab_size()
        return GrammarTime(TOKEN_S * max(1.0, size / VOCABULARY))

    def by(theirs: Any) -> Any:
        def make(request: Any) -> Any:
            key = request.structured_output_request.structured_output_key
            return timed(theirs(request), time_of(*key), masking)

        return make

    make_grammars(manager, by)
    if (masks := getattr(manager, "grammar_bitmask", None)) is not None:
        manager.grammar_bitmask = masking.during(masks)


def timed(grammar: Any, spent: GrammarTime, masking: Masking) -> Any:
    """The same grammar of a request, which refuses every sampled token as soon as its time is over."""
    accept, fill = grammar.accept_tokens, grammar.fill_bitmask

    def accept_tokens(request_id: str, tokens: list[int]) -> bool:
        if spent.is_over and not masking.is_on:
            logger.error(TOO_SLOW, request_id, 1000 * spent.token_s)
            return False
        start_s = time.thread_time()
        is_accepted = bool(accept(request_id, tokens))
        spent.spend(time.thread_time() - start_s, len(tokens))
        return is_accepted

    def fill_bitmask(bitmask: Any, index: int) -> None:
        if spent.is_over:
            bitmask[index].fill_(-1)  # all tokens are allowed, and the next one is refused
            return
        start_s = time.thread_time()
        fill(bitmask, index)
        spent.spend(time.thread_time() - start_s)

    grammar.accept_tokens, grammar.fill_bitmask = accept_tokens, fill_bitmask
    return grammar
