"""Every scheduling variant by name."""

from __future__ import annotations

from relserve.policies.registry import Registry
from relserve.policies.scheduling.arrange import (
    Exclusive,
    Marginal,
    Mixed,
    always_decode,
    always_prefill,
    by_total_latency,
)
from relserve.policies.scheduling.background import BackgroundRows
from relserve.policies.scheduling.due import DueTimes, Urgency
from relserve.policies.scheduling.guard import NoGuard, PatienceGuard, StarvationGuard
from relserve.policies.scheduling.ordinary import OrdinaryTraffic
from relserve.policies.scheduling.policy import SchedulingPolicy
from relserve.policies.scheduling.priority import Dynamic, FirstComeFirstServed, StaticPriority

NO_GUARD = NoGuard()
ENDLESS = float("inf")
DEFAULT = "dpu+marginal"  # ours; the others are as published, which knows no guard like ours
# Of the outputs to come, for rows end one after the other. In the simulator, with tight memory: none preempts
# ten times as often and is 1 to 4 % slower on average, a half 1 to 5 %, all 3 to 12 %.
RESERVE_SHARE = 0.25

VARIANTS: Registry[SchedulingPolicy] = Registry("scheduling variant", {
    "fcfs": lambda name, _: SchedulingPolicy(name, FirstComeFirstServed(), Mixed(), NO_GUARD),
    "static": lambda name, _: SchedulingPolicy(name, StaticPriority(), Mixed(), NO_GUARD),
    "fcfs+pp": lambda name, _: SchedulingPolicy(
        name, FirstComeFirstServed(), Exclusive(always_prefill, False), NO_GUARD
    ),
    "static+pp": lambda name, _: SchedulingPolicy(
        name, StaticPriority(), Exclusive(always_prefill, False), NO_GUARD
    ),
    "dpu+pp": lambda name, guard: SchedulingPolicy(name, Dynamic(), Exclusive(always_prefill), guard),
    "dpu+dp": lambda name, guard: SchedulingPolicy(name, Dynamic(), Exclusive(always_decode), guard),
    "dpu+aba": lambda name, guard: SchedulingPolicy(name, Dynamic(), Exclusive(by_total_latency), guard),
    "dpu+aba checked": lambda name, guard: SchedulingPolicy(
        name, Dynamic(), Exclusive(by_total_latency), guard, reserve_share=1.0
    ),
    "dpu-exact+aba": lambda name, guard: SchedulingPolicy(
        name, Dynamic(exact=True), Exclusive(by_total_latency), guard
    ),
    "dpu+marginal": lambda name, guard: SchedulingPolicy(
        name,
        Dynamic(share_bases=True),
        Marginal(),
        PatienceGuard(ENDLESS) if guard is NO_GUARD else guard,  # which keeps deadlines and nothing else
        RESERVE_SHARE,
        learns=True,
        ordinary=OrdinaryTraffic(),
        due=DueTimes(),
        background=BackgroundRows(),
    ),
    "hexgen": lambda name, _: SchedulingPolicy(name, Urgency(), Mixed(), NO_GUARD, learns=True),
})  # fmt: skip
NAMES = VARIANTS.names


def make(name: str, starvation_s: float = 0.0, patience: float = 0.0) -> SchedulingPolicy:
    """The variant of that name.

    Args:
        starvation_s: threshold of the paper's starvation guard in seconds per row; 0 for none.
        patience: of our guard, in FCFS latencies; 0 for none. At most one guard can be chosen.

    Raises:
        ValueError: no such variant (the message lists them), or two guards.
    """
    if starvation_s and patience:
        raise ValueError("starvation_s and patience are two guards against the same; set one of them to 0")
    paper = StarvationGuard(starvation_s) if starvation_s else NO_GUARD
    return VARIANTS.make(name, PatienceGuard(patience) if patience else paper)
