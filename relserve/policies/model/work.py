"""What a step computes: one record, which cost models, budget policies, simulators and the plug-in share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

Column = np.ndarray[tuple[int], np.dtype[np.float64]]
Table = np.ndarray[tuple[int, int], np.dtype[np.float64]]
NUM_COLUMNS = 5  # of a table of works: its fields up to `pairs`, a row a step


class Work(NamedTuple):
    """What a step computes, as far as its duration may hang on it.

    Tokens in memory are those of before the step.

    Attributes:
        prefill_tokens: tokens of prompts that are computed, and tokens of outputs that were lost and are
            computed again.
        num_prefills, num_decodes: requests that they belong to, and those that decode one token each.
        context_tokens: tokens in memory that all of them attend to.
        pairs: pairs of a prompt's token with one that it attends to.
        cached_pairs: those of the pairs whose other token an earlier step computed.
        kv_tokens, hidden_tokens: the part of `context_tokens` that requests read which decode, by the type of
            their cache: keys and values, or hidden states.
        made_tokens: the part of hidden prompts that go on, of which keys and values are made again.
    """

    prefill_tokens: float = 0.0
    num_prefills: float = 0.0
    num_decodes: float = 0.0
    context_tokens: float = 0.0
    pairs: float = 0.0
    cached_pairs: float = 0.0
    kv_tokens: float = 0.0
    hidden_tokens: float = 0.0
    made_tokens: float = 0.0

    @property
    def num_tokens(self) -> float:
        """Tokens that go through the model."""
        return self.prefill_tokens + self.num_decodes

    @property
    def num_requests(self) -> float:
        """Requests that compute a token at least."""
        return self.num_prefills + self.num_decodes

    @property
    def row(self) -> tuple[float, ...]:
        """Its row in a table of works."""
        return self[:NUM_COLUMNS]


class MeasuredStep(NamedTuple):
    """A step that was measured: what it computed, and the seconds that it took."""

    work: Work
    seconds: float
