"""A gate as the settings want it."""

from __future__ import annotations

from collections.abc import Mapping

from relserve.gate.gate import Gate
from relserve.policies.admission.door import Door
from relserve.policies.admission.fair import Shares
from relserve.policies.admission.request import SloClasses
from relserve.policies.admission.variants import make
from relserve.settings import ADMISSIONS


def make_gate(
    admission: str, weights: Mapping[str, float] | None = None, classes: SloClasses | None = None
) -> Gate:
    """The gate of one engine.

    Args:
        admission: as of the setting.
        weights: of users' shares.

    Raises:
        ValueError: there is no such admission.
    """
    if admission == ADMISSIONS[0]:
        return Gate(None, classes)
    return Gate(Door(make(admission), late="error", shares=Shares(weights)), classes)
