"""Every caching variant by name."""

from __future__ import annotations

from relserve.policies.caching.apt import AptServe, AptServeMixed
from relserve.policies.caching.first_come import FirstCome
from relserve.policies.caching.policy import CachingPolicy
from relserve.policies.caching.value import Alike, Pending

_VARIANTS: tuple[CachingPolicy, ...] = (
    FirstCome("fcfs"),
    FirstCome("fcfs-hidden", hidden=True),
    AptServe("apt"),
    AptServe("apt-decay", Pending(decay=0.4)),
    AptServe("apt-kv", hybrid=False),
    AptServeMixed("apt-s"),
    AptServeMixed("apt-s-kv", hybrid=False),
    AptServe("smallest", Alike()),
    AptServe("smallest-kv", Alike(), hybrid=False),
)
NAMES = tuple(variant.name for variant in _VARIANTS)


def make(name: str) -> CachingPolicy:
    """The variant of that name.

    Raises:
        ValueError: there is none; the message lists them.
    """
    for variant in _VARIANTS:
        if variant.name == name:
            return variant
    raise ValueError(f"no caching variant {name!r}; there are: {', '.join(NAMES)}")
