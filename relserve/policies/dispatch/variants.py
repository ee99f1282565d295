"""Every dispatch policy by name."""

from __future__ import annotations

from collections.abc import Callable

from relserve.policies.dispatch.finish import PredictedFinish
from relserve.policies.dispatch.hexgen.balanced import WorkloadBalanced
from relserve.policies.dispatch.hexgen.tuned import TunedBalanced
from relserve.policies.dispatch.loads import LeastLatency, LeastLoaded, LeastUnanswered, PowerOfTwo
from relserve.policies.dispatch.policy import DispatchPolicy
from relserve.policies.dispatch.predicted import Predicted
from relserve.policies.dispatch.prism import Prism
from relserve.policies.dispatch.turns import RoundRobin, Weighted

MAKERS: dict[str, Callable[[str], DispatchPolicy]] = {
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
}
NAMES = tuple(MAKERS)
FORMER = {"ours": "predicted"}  # earlier names, which configurations may still have


def make(name: str) -> DispatchPolicy:
    """A policy of that name, for one router.

    Raises:
        ValueError: there is none; the message lists them.
    """
    name = FORMER.get(name, name)
    if name not in MAKERS:
        raise ValueError(f"no dispatch policy {name!r}; there are: {', '.join(NAMES)}")
    return MAKERS[name](name)
