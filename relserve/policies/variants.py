"""Every scheduling variant by name."""

from __future__ import annotations

from collections.abc import Callable

from relserve.policies.arrange import (
    Exclusive,
    Marginal,
    Mixed,
    always_decode,
    always_prefill,
    by_total_latency,
)
from relserve.policies.priority import Arrival, Dynamic, StarvationGuard, Static
from relserve.policies.scheduling import SchedulingPolicy

DEFAULT = "dpu+marginal"
ROOM_SHARE = 0.5

_MAKERS: dict[str, Callable[[StarvationGuard], SchedulingPolicy]] = {
    "fcfs": lambda g: SchedulingPolicy("fcfs", Arrival(), Mixed(), StarvationGuard(None)),
    "static": lambda g: SchedulingPolicy("static", Static(), Mixed(), StarvationGuard(None)),
    "fcfs+pp": lambda g: SchedulingPolicy(
        "fcfs+pp", Arrival(), Exclusive(always_prefill), StarvationGuard(None)
    ),
    "static+pp": lambda g: SchedulingPolicy(
        "static+pp", Static(), Exclusive(always_prefill), StarvationGuard(None)
    ),
    "dpu+pp": lambda g: SchedulingPolicy(
        "dpu+pp", Dynamic(), Exclusive(always_prefill), g, one_relquery=True
    ),
    "dpu+dp": lambda g: SchedulingPolicy("dpu+dp", Dynamic(), Exclusive(always_decode), g, one_relquery=True),
    "dpu+aba": lambda g: SchedulingPolicy(
        "dpu+aba", Dynamic(), Exclusive(by_total_latency), g, one_relquery=True
    ),
    "dpu+mixed": lambda g: SchedulingPolicy("dpu+mixed", Dynamic(), Mixed(), g, room_share=ROOM_SHARE),
    "dpu+marginal": lambda g: SchedulingPolicy(
        "dpu+marginal", Dynamic(), Marginal(), g, room_share=ROOM_SHARE
    ),
}
NAMES = tuple(_MAKERS)


def make(name: str, starvation_s: float | None = None) -> SchedulingPolicy:
    """The variant of that name.

    Args:
        starvation_s: threshold of the starvation guard in seconds per row; None for no guard.

    Raises:
        ValueError: no such variant; the message lists them.
    """
    if name not in _MAKERS:
        raise ValueError(f"no scheduling variant {name!r}; there are: {', '.join(NAMES)}")
    return _MAKERS[name](StarvationGuard(starvation_s))
