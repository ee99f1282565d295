"""What a policy is shown before a step, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.order import RelQueryOrder

NO_ORDER: RelQueryOrder[RelState] = RelQueryOrder()


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """An engine's limits: requests at once, tokens a step, KV cache tokens, tokens a block.

    Where rows may keep hidden states, tokens are those of the type with which rows are admitted now.
    """

    max_num_seqs: int
    max_num_batched_tokens: int
    kv_tokens: int
    block_size: int = 16


@dataclass(slots=True)
class RelState:
    """The rows of one unfinished relQuery, counted by whoever owns the queues; policies only read it.

    Attributes:
        arrival_s: when its first row arrived, in seconds.
        num_rows: rows that it is taken to have, req(R_0): seen, or announced and believed to be on the way.
        output_cap: most output tokens of a row, OL(R).
        num_arrived, arrived_tokens: rows that have arrived, and their prompt tokens.
        num_unannounced: of them, those that showed that it has more rows than it was taken to have.
        num_waiting, waiting_tokens: rows not admitted (or preempted), and their tokens to compute.
        num_running: rows that hold KV cache; num_decoding of them have their whole prompt computed.
        prefill_left: prompt tokens that running rows have still to compute.
        row_output, longest_output: output tokens of a row that has not begun, on average, and of the longest
            of its rows: by the cap, or as learnt.
        seen_output: the longest output that rows of its kind are known to have had; 0 where none is known.
        max_decode_left, sum_decode_left: output tokens that running rows have still to give, likewise.
        first_scheduled_s: when its first row was admitted; None before.
        waiting_row_tokens: the waiting rows one by one, for Algorithm 1 as published.
        is_named: whether its requests name it; else it is a relQuery only for want of one.
        workflow_id, stage: of the workflow that it is a step of, and the step's kind; None for none.
        is_background: nobody waits for it: it gets what room the others leave.
        deadline_s: when its answers are of no more use, on the clock of `arrival_s`; None: never.
        most_output: the most tokens that one of its rows that ended has given.
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
    row_output: float = 0.0
    longest_output: float = 0.0
    seen_output: float = 0.0
    max_decode_left: float = 0
    sum_decode_left: float = 0
    first_scheduled_s: float | None = None
    waiting_row_tokens: Callable[[], Iterable[int]] | None = None
    num_unannounced: int = 0
    is_named: bool = True
    workflow_id: str | None = None
    stage: str | None = None
    deadline_s: float | None = None
    most_output: int = 0
    is_background: bool = False

    def __post_init__(self) -> None:
        if not self.row_output:
            self.row_output = self.longest_output = self.seen_output = float(self.output_cap)

    @property
    def is_ordinary(self) -> bool:
        """Whether it is a single request of a client that knows nothing of relQueries."""
        return not self.is_named and self.num_rows == 1

    @property
    def has_promise(self) -> bool:
        """Whether a guard sees to it that it is done in time."""
        return not self.is_ordinary and not self.is_background

    @property
    def num_unseen(self) -> int:
        """Rows announced that have not arrived."""
        unseen = self.num_rows - self.num_arrived
        return unseen if unseen > 0 else 0

    @property
    def mean_tokens(self) -> float:
        """Prompt tokens of a row on average; 1 before any has arrived."""
        return self.arrived_tokens / self.num_arrived if self.num_arrived else 1.0


class FreeCapacity(NamedTuple):
    """What the engine could still take: slots, and KV cache tokens not in use (see `EngineLimits`)."""

    slots: int
    kv_tokens: int


@dataclass(frozen=True, slots=True)
class StepView:
    """What a policy is shown before a step.

    Attributes:
        changed: relQueries that are new, or of which a row arrived, waited, ran or ended since the last view.
        gone: ids of relQueries that were shown before and have left since; `cancelled` are those unfinished.
        free_capacity: slots and KV tokens that are free now.
        now_s: the time, on the clock of `RelState.arrival_s`.
        cost: how long steps take.
        miss_ratio: measures the share of a relQuery's prompt tokens that the prefix cache lacks, by sampling
            its waiting rows (Eq. 11); it costs time, so it is called only where the value is used.
        num_steps: steps since the last view; there is none of a step in which there is nothing to decide.
        is_cost_sure: whether steps lately took about what `cost` says.
    """

    changed: Sequence[RelState]
    gone: Sequence[str]
    free_capacity: FreeCapacity
    limits: EngineLimits
    now_s: float
    cost: CostModel
    miss_ratio: Callable[[RelState], float]
    cancelled: frozenset[str] = frozenset()
    num_steps: int = 1
    is_cost_sure: bool = True


@dataclass(frozen=True, slots=True)
class StepDecision:
    """A decision for one step, by relQuery and, where that is too coarse, by request.

    Attributes:
        decode: relQueries whose rows may decode; None for all.
        prefill: relQueries whose prompts may be computed, admitting rows where needed; None for all.
        max_admit: most rows to admit; None for as many as fit.
        reason: the case that decided, for counters.
        held_requests: ids of requests that must not run, whatever their relQuery may.
        token_budget: most tokens that the step computes; None for as many as the engine's limits allow.
        order: in which the relQueries are served, and preempted from the end.
    """

    decode: frozenset[str] | None
    prefill: frozenset[str] | None
    max_admit: int | None
    reason: str
    held_requests: frozenset[str] = frozenset()
    token_budget: int | None = None
    order: RelQueryOrder[RelState] = field(default=NO_ORDER, compare=False, repr=False)

    @property
    def holds_nothing_back(self) -> bool:
        """Whether every running row may run."""
        return self.decode is None and self.prefill is None and not self.held_requests

    def decodes(self, rel_id: str) -> bool:
        """Whether a relQuery's rows may decode."""
        return self.decode is None or rel_id in self.decode

    def prefills(self, rel_id: str) -> bool:
        """Whether a relQuery's prompts may be computed."""
        return self.prefill is None or rel_id in self.prefill


NOBODY: frozenset[str] = frozenset()
