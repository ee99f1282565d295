"""What a policy sees: the relQueries in the engine, and the engine's limits and room."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from relserve.policies.cost import CostModel


@dataclass(frozen=True, slots=True)
class Limits:
    """An engine's limits: requests at once, tokens a step, KV cache tokens, tokens a block."""

    max_num_seqs: int
    max_num_batched_tokens: int
    kv_tokens: int
    block_size: int = 16


class Work(NamedTuple):
    """Work for an engine: uncached prompt tokens, output tokens, and the decode steps that give them."""

    tokens: float
    outputs: float
    steps: float

    def seconds(self, cost: CostModel) -> float:
        """How long it takes; prefill batches are taken as full, so that their bases vanish."""
        decode_s = cost.decode_per_request_s * self.outputs + cost.decode_base_s * self.steps
        return cost.prefill_per_token_s * self.tokens + decode_s


class RemainingWork(NamedTuple):
    """What a relQuery has left, in seconds on an engine that it has for itself (Eq. 10), in two parts.

    `work_s` is of its tokens and outputs; `bases_s`, of its steps, is paid once by all that share a step.
    """

    work_s: float
    bases_s: float

    @property
    def alone_s(self) -> float:
        """PEM's estimate: both."""
        return self.work_s + self.bases_s


@dataclass(slots=True)
class RelState:
    """One unfinished relQuery, kept up to date by whoever owns the queues.

    Attributes:
        arrival_s: when its first row arrived, in seconds.
        num_rows: rows announced at arrival, req(R_0); rows may still be on their way.
        output_cap: most output tokens of a row, OL(R).
        num_arrived, arrived_tokens: rows that have arrived, and their prompt tokens.
        num_waiting, waiting_tokens: rows not admitted (or preempted), and their tokens to compute.
        num_running: rows that hold KV cache; num_decoding of them have their whole prompt computed.
        prefill_left: prompt tokens that running rows have still to compute.
        max_decode_left, sum_decode_left: output tokens that running rows have still to give, by the cap.
        miss_ratio: share of prompt tokens not in the prefix cache (Eq. 11).
        first_scheduled_s: when its first row was admitted; None before.
        waiting_row_tokens: the waiting rows one by one, for Algorithm 1 as published.
    """

    rel_id: str
    arrival_s: float
    num_rows: int
    output_cap: int
    num_arrived: int = 0
    arrived_tokens: int = 0
    num_waiting: int = 0
    waiting_tokens: int = 0
    num_running: int = 0
    num_decoding: int = 0
    prefill_left: int = 0
    max_decode_left: int = 0
    sum_decode_left: int = 0
    miss_ratio: float = 1.0
    first_scheduled_s: float | None = None
    waiting_row_tokens: Callable[[], Iterable[int]] | None = None
    left: RemainingWork | None = None  # of the last update
    priority: float | None = None  # of the last update (Eq. 8); lower is more urgent
    fcfs: Work | None = None  # all there was to do when it came, its own included
    starved: bool = False
    changed: bool = True  # since the last update: a row arrived, ran or finished

    @property
    def num_unseen(self) -> int:
        """Rows announced that have not arrived."""
        return max(0, self.num_rows - self.num_arrived)

    @property
    def mean_tokens(self) -> float:
        """Prompt tokens of a row on average; 1 before any has arrived."""
        return self.arrived_tokens / self.num_arrived if self.num_arrived else 1.0


class FreeCapacity(NamedTuple):
    """What the engine could still take: request slots, and KV cache tokens not in use."""

    slots: int
    kv_tokens: int


@dataclass(frozen=True, slots=True)
class StepDecision:
    """A decision for one step, by relQuery.

    Attributes:
        decode: relQueries whose rows may decode; None for all.
        prefill: relQueries whose prompts may be computed, admitting rows where needed; None for all.
        max_admit: most rows to admit; None for as many as fit.
        reason: the case that decided, for counters.
    """

    decode: frozenset[str] | None
    prefill: frozenset[str] | None
    max_admit: int | None
    reason: str

    def decodes(self, rel_id: str) -> bool:
        """Whether a relQuery's rows may decode."""
        return self.decode is None or rel_id in self.decode

    def prefills(self, rel_id: str) -> bool:
        """Whether a relQuery's prompts may be computed."""
        return self.prefill is None or rel_id in self.prefill


NOBODY: frozenset[str] = frozenset()
