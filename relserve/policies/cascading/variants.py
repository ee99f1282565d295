"""Every cascade by name."""

from __future__ import annotations

from relserve.policies.cascading.bargain import bargain
from relserve.policies.cascading.ends import sampled_ends
from relserve.policies.cascading.policy import FilterCascade, Targets
from relserve.policies.cascading.replayed import Asks, ReplayedCascade
from relserve.policies.cascading.supg import supg

VARIANTS: dict[str, Asks] = {"sampled_ends": sampled_ends, "bargain": bargain, "supg": supg}
NAMES = tuple(VARIANTS)
DEFAULT = "sampled_ends"


def make(name: str, targets: Targets, seed: int) -> FilterCascade:
    """A cascade of that name, for one filter.

    Raises:
        ValueError: there is none; the message lists them.
    """
    if name not in VARIANTS:
        raise ValueError(f"no cascade {name!r}; there are: {', '.join(NAMES)}")
    return ReplayedCascade(name, VARIANTS[name], targets, seed)
