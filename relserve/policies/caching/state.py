"""What a caching policy is shown before a step, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from relserve.policies.caching.requests import Bools, CacheType, Ints, RequestColumns
from relserve.policies.model.cache_costs import CacheCosts

Phase = Literal["prefill", "decode", "mixed"]


class BatchLimits(NamedTuple):
    """An engine's limits: requests that hold memory at once, tokens a step."""

    max_num_seqs: int
    max_num_batched_tokens: int


class BlockMemory(NamedTuple):
    """The pool of blocks: a block holds keys and values of some tokens, or hidden states of more.

    Attributes:
        num_blocks: blocks of requests, without the null block and those that several hold.
        kv_tokens_per_block: tokens whose keys and values fill a block.
        hidden_tokens_per_block: tokens whose hidden states fill a block, mostly twice as many.
    """

    num_blocks: int
    kv_tokens_per_block: int
    hidden_tokens_per_block: int

    def blocks(self, num_tokens: int, cache: CacheType) -> int:
        """Blocks that so many tokens take as this type."""
        return -(-num_tokens // self.tokens_per_block(cache))

    def tokens_per_block(self, cache: CacheType) -> int:
        """Tokens that a block holds as this type."""
        return self.hidden_tokens_per_block if cache == "hidden" else self.kv_tokens_per_block


class CacheView(NamedTuple):
    """All that a policy knows before a step.

    Attributes:
        requests: the unfinished requests; the caller's own table, which it keeps from step to step.
    """

    now_s: float
    requests: RequestColumns
    memory: BlockMemory
    limits: BatchLimits
    costs: CacheCosts


@dataclass(frozen=True, slots=True)
class CachePlan:
    """What a step does. Requests neither run nor dropped keep what they hold, and pause.

    Attributes:
        run: what computes, most urgent first, each with the type of its cache. Decoding requests compute one
            token, the others what they still have to, as far as the step's tokens go; the memory of all of
            them, with that of requests that pause, is there. A type is another than what a request holds
            only where `drop` names it as well.
        drop: requests that lose what they hold before the step, for want of memory or to change the type;
            in this order. Those that do not run in the same step wait.
        phase: "prefill" computes prompts only, "decode" one token each, "mixed" both.
        reason: the decision in a few words, for logs.
        most_tokens: of the step, where that is less than the engine's limit; None: as many as that.
    """

    run: tuple[tuple[str, CacheType], ...]
    drop: tuple[str, ...]
    phase: Phase
    reason: str
    most_tokens: int | None = None

    @property
    def types(self) -> dict[str, CacheType]:
        """The type of each request that runs."""
        return dict(self.run)


def plan_of(
    requests: RequestColumns, run: Ints, hidden: Bools, drop: Ints, phase: Phase, reason: str
) -> CachePlan:
    """A plan from rows of the table: those that run, which of them are hidden, and those that are dropped."""
    ids = requests.ids
    types: list[CacheType] = ["hidden" if is_hidden else "kv" for is_hidden in hidden.tolist()]
    running = zip([ids[row] for row in run.tolist()], types, strict=True)
    return CachePlan(tuple(running), tuple([ids[row] for row in drop.tolist()]), phase, reason)
