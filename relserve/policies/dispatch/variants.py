"""Every dispatch policy by name."""

from __future__ import annotations

from relserve.policies.dispatch.finish import PredictedFinish
from relserve.policies.dispatch.hexgen.balanced import WorkloadBalanced
from relserve.policies.dispatch.hexgen.tuned import TunedBalanced
from relserve.policies.dispatch.loads import LeastLatency, LeastLoaded, LeastUnanswered, PowerOfTwo
from relserve.policies.dispatch.policy import DispatchPolicy
from relserve.policies.dispatch.predicted import Predicted
from relserve.policies.dispatch.prism import Prism
from relserve.policies.dispatch.turns import RoundRobin, Weighted
from relserve.policies.registry import Registry

FORMER = {"ours": "predicted"}  # earlier names, which configurations may still have
VARIANTS: Registry[DispatchPolicy] = Registry("dispatch policy", {
    "round_robin": RoundRobin,
    "weighted": Weighted,
    "least_loaded": LeastLoaded,
    "least_unanswered": LeastUnanswered,
    "power_of_two": PowerOfTwo,
    "latency": LeastLatency,
    "prism": Prism,
    "prism+own": lambda name: Prism(name, counts_own=True),
    "hexgen": WorkloadBalanced,
    "hexgen_tuned": TunedBalanced,
    "finish": PredictedFinish,
    "predicted": Predicted,
}, former=FORMER)  # fmt: skip
NAMES = VARIANTS.names
make = VARIANTS.make  # for one router
