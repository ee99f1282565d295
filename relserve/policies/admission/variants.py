"""Every admission policy by name."""

from __future__ import annotations

from relserve.policies.admission.in_time import InTimeAdmission
from relserve.policies.admission.policy import AdmissionPolicy
from relserve.policies.admission.saber import Saber
from relserve.policies.admission.static import LIMITS, StaticLimit
from relserve.policies.registry import Registry

FORMER = {"ours": "in_time"}  # earlier names, which configurations may still have


def _static(name: str, limit: int) -> AdmissionPolicy:
    return StaticLimit(name, limit)


_VARIANTS: Registry[AdmissionPolicy] = Registry(
    "admission policy",
    {
        "in_time": lambda name, seed: InTimeAdmission(name),
        "saber": lambda name, seed: Saber(name, seed=seed),
        **{f"static-{limit}": lambda name, seed, limit=limit: _static(name, limit) for limit in LIMITS},
    },
    {"static": _static},
    former=FORMER,
)
NAMES = _VARIANTS.names


def make(name: str, seed: int = 0) -> AdmissionPolicy:
    """A policy of that name, for one engine; `static-N` for any limit N.

    Args:
        seed: of SABER's random window.

    Raises:
        ValueError: there is none; the message lists them.
    """
    return _VARIANTS.make(name, seed)
