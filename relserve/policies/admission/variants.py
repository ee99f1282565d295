"""Every admission policy by name."""

from __future__ import annotations

from relserve.policies.admission.in_time import InTimeAdmission
from relserve.policies.admission.policy import AdmissionPolicy
from relserve.policies.admission.saber import Saber
from relserve.policies.admission.static import LIMITS, StaticLimit

NAMES = ("in_time", "saber", *[f"static-{limit}" for limit in LIMITS])
FORMER = {"ours": "in_time"}  # earlier names, which configurations may still have


def make(name: str, seed: int = 0) -> AdmissionPolicy:
    """A policy of that name, for one engine; `static-N` for any limit N.

    Args:
        seed: of SABER's random window.

    Raises:
        ValueError: there is none; the message lists them.
    """
    name = FORMER.get(name, name)
    if name == "in_time":
        return InTimeAdmission(name)
    if name == "saber":
        return Saber(name, seed=seed)
    kind, _, limit = name.partition("-")
    if kind == "static" and limit.isdecimal() and int(limit):
        return StaticLimit(name, int(limit))
    raise ValueError(f"no admission policy {name!r}; there are: {', '.join(NAMES)} and any static-N")
