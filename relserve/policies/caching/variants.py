"""Every caching variant by name."""

from __future__ import annotations

from relserve.policies.caching.apt import AptServe, AptServeMixed
from relserve.policies.caching.first_come import FirstCome
from relserve.policies.caching.policy import CachingPolicy
from relserve.policies.caching.steady import Steady
from relserve.policies.caching.value import Pending
from relserve.policies.registry import Registry

FORMER = {"ours": "steady", "ours-kv": "steady-kv"}  # earlier names, which configurations may still have
VARIANTS: Registry[CachingPolicy] = Registry("caching policy", {
    "fcfs": lambda name: FirstCome(name),
    "fcfs-hidden": lambda name: FirstCome(name, hidden=True),
    "apt": lambda name: AptServe(name),
    "apt-decay": lambda name: AptServe(name, Pending(decay=0.4)),
    "apt-kv": lambda name: AptServe(name, hybrid=False),
    "apt-s": lambda name: AptServeMixed(name),
    "apt-s-kv": lambda name: AptServeMixed(name, hybrid=False),
    "steady": Steady,
    "steady-kv": lambda name: Steady(name, hybrid=False),
}, former=FORMER)  # fmt: skip
NAMES = VARIANTS.names
make = VARIANTS.make  # for one engine: a steady one remembers whose turn it is
