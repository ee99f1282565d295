"""What the grammar of a call costs at a model's vocabulary: to compile, and to mask a token's choices."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from relserve.call.answer_types import Grammar
from relserve.call.structured import structured_outputs_of

NUM_REPLIES, MAX_TOKENS = 8, 32


class GrammarCost(NamedTuple):
    """CPU seconds to compile, mean and greatest CPU milliseconds of a mask."""

    compile_s: float
    mask_ms: float
    mask_ms_max: float


class Vocabulary:
    """A model's tokens, as vLLM hands them to xgrammar."""

    def __init__(self, folder: Path) -> None:
        import xgrammar
        from transformers import AutoConfig, PreTrainedTokenizerFast

        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
        self.size = int(AutoConfig.from_pretrained(folder).vocab_size)
        self._info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=self.size)

    def cost(self, grammar: Grammar) -> GrammarCost:
        """What vLLM spends on a grammar, over a few replies that it allows."""
        import xgrammar

        compiler = xgrammar.GrammarCompiler(self._info, max_threads=8, cache_enabled=False)
        methods = {"regex": compiler.compile_regex, "grammar": compiler.compile_grammar}
        ((form, text),) = structured_outputs_of(grammar, str).items()
        began_s = time.process_time()
        compiled = methods[form](text)
        compile_s = time.process_time() - began_s
        masks_s = [s for seed in range(NUM_REPLIES) for s in mask_seconds(compiled, self.size, seed)]
        return GrammarCost(compile_s, 1e3 * sum(masks_s) / len(masks_s), 1e3 * max(masks_s))


def mask_seconds(grammar: Any, vocab_size: int, seed: int) -> list[float]:
    """CPU seconds of the mask before each token of a random reply that the grammar allows."""
    import xgrammar

    matcher, mask = xgrammar.GrammarMatcher(grammar), xgrammar.allocate_token_bitmask(1, vocab_size)
    rng, seconds = random.Random(seed), []
    while len(seconds) < MAX_TOKENS and not matcher.is_terminated():
        began_s = time.process_time()
        matcher.fill_next_token_bitmask(mask)
        seconds.append(time.process_time() - began_s)
        bits = np.unpackbits(mask[0].numpy().view(np.uint8), bitorder="little")[:vocab_size]
        assert matcher.accept_token(int(rng.choice(np.flatnonzero(bits))))
    return seconds
