"""One request of a simulation: what is known beforehand, and where it stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from relserve.policies.caching.requests import CacheType


class RequestSpec(NamedTuple):
    """A request that will come: when, tokens of its prompt, tokens that it will say, its limits."""

    arrival_s: float
    num_prompt: int
    num_output: int
    ttft_slo_s: float = inf
    tpot_slo_s: float = inf


@dataclass(slots=True, eq=False)
class SimRequest:
    """A request that has come.

    Attributes:
        num_tokens: its prompt and what it has generated.
        num_computed: of them, those in memory.
        cache: what it holds; None: nothing, it waits.
        blocks: that it holds.
        token_s: when each of its tokens came.
    """

    request_id: str
    spec: RequestSpec
    num_tokens: int
    num_computed: int = 0
    cache: CacheType | None = None
    blocks: int = 0
    token_s: list[float] = field(default_factory=list)

    @property
    def num_left(self) -> int:
        """Tokens that it will still say."""
        return self.spec.num_output - len(self.token_s)

    @property
    def is_finished(self) -> bool:
        """Whether it has generated all its tokens."""
        return len(self.token_s) >= self.spec.num_output
