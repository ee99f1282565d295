"""A gate as the settings want it."""

from __future__ import annotations

from collections.abc import Mapping

from relserve.gate.desk import DeskStatus
from relserve.gate.gate import Gate
from relserve.machine.gate_status import GateFile, here
from relserve.policies.admission.door import Door
from relserve.policies.admission.fair import Shares
from relserve.policies.admission.promise import Promise
from relserve.policies.admission.request import SloClasses
from relserve.policies.admission.variants import make
from relserve.settings import ADMISSIONS


def make_gate(
    admission: str,
    weights: Mapping[str, float] | None = None,
    classes: SloClasses | None = None,
    model: str = "",
) -> Gate:
    """The gate of one engine, which tells `relserve top` who waits.

    Args:
        admission: as of the setting.
        weights: of users' shares.
        model: of the engine, as users name it.

    Raises:
        ValueError: there is no such admission.
    """
    if admission == ADMISSIONS[0]:
        return Gate(None, classes)
    file = GateFile()

    def publish(status: DeskStatus) -> None:
        file.write(here(model=model, **status._asdict()))

    promise = Promise() if admission == "ours" else None
    door = Door(make(admission), late="error", shares=Shares(weights), promise=promise)
    return Gate(door, classes, publish=publish)
