"""The plan of one step of vLLM's scheduler: order, cache types and tokens together.

The policy of relQueries, a caching policy and a budget policy answer each in their own terms. Pure parts put
the answers together into one plan before the step, and `carry_out.py` has vLLM do what it says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from relserve.policies.caching.requests import CacheType
from relserve.policies.scheduling.order import RelQueryOrder
from relserve.policies.scheduling.state import RelState
from relserve.vllm_plugin.host import HostRequest


@dataclass(frozen=True, slots=True)
class StepPlan:
    """What one step may do; without arguments but `running`, what vLLM would do by itself.

    Attributes:
        running: the running rows that it may compute, most urgent first; vLLM preempts the last.
        held_back: the other running rows, which keep what they hold.
        order: of relQueries, in which their rows are admitted; None where no relQuery goes before another.
        admit: the groups of the queue (see `RelQueue`) whose rows may be admitted, in this order; None for
            all in the order of `order`.
        held_requests: ids of waiting requests that are not admitted, whatever `admit` says.
        max_admit: most rows to admit; None for as many as fit.
        token_budget: most tokens that the step computes; None for as many as the engine's limits allow.
        types: as what rows are admitted, by request id; the others as `RowTypes` says.
        drop: ids of running rows that lose what they hold before the step, in this order. They wait again.
    """

    running: Sequence[HostRequest]
    held_back: Sequence[HostRequest] = ()
    order: RelQueryOrder[RelState] | None = None
    admit: Sequence[str] | None = None
    held_requests: frozenset[str] = frozenset()
    max_admit: int | None = None
    token_budget: int | None = None
    types: Mapping[str, CacheType] = field(default_factory=dict)
    drop: Sequence[str] = ()
