"""A gate as the settings want it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from relserve.gate.gate import Gate
from relserve.machine.engine_status import StatusFile
from relserve.machine.gate_status import GateStatus
from relserve.policies.admission.controller import AdmissionController
from relserve.policies.admission.fair import Shares
from relserve.policies.admission.offline import profile
from relserve.policies.admission.online import OnlineCurve
from relserve.policies.admission.promise import Promise
from relserve.policies.admission.request import SloClasses
from relserve.policies.admission.variants import make
from relserve.policies.model.linear import CostModel
from relserve.settings import ADMISSIONS


def make_gate(
    admission: str,
    weights: Mapping[str, float] | None = None,
    classes: SloClasses | None = None,
    model: str = "",
    cost: Callable[[], CostModel] | None = None,
    num_engines: int = 1,
) -> Gate:
    """The gate of one engine, which tells `relserve top` who waits.

    Args:
        admission: as of the setting.
        weights: of users' shares.
        model: of the engine, as users name it.
        cost: what its steps cost as far as that is known now, from which SABER has its curve of speeds.
        num_engines: that are behind the gate, where they are a fleet.

    Raises:
        ValueError: there is no such admission, or it is SABER's and there is no `cost`.
    """
    if admission == ADMISSIONS[0]:
        return Gate(None, classes)
    file = StatusFile("gate")

    def publish(status: GateStatus) -> None:
        file.write(replace(status, model=model))

    if admission == "saber":
        controller = _published(cost, num_engines)
    else:
        promise = Promise() if admission == "in_time" else None
        controller = AdmissionController(
            make(admission), late="error", shares=Shares(weights), promise=promise
        )
    return Gate(controller, classes, publish=publish)


def _published(cost: Callable[[], CostModel] | None, num_engines: int) -> AdmissionController:
    """SABER's: a curve of the offline phase that stays, one queue for all users, and nobody is refused."""
    if cost is None:
        raise ValueError("SABER's admission needs to know what the engine's steps cost")
    return AdmissionController(
        make("saber"), OnlineCurve(profile(cost(), num_engines), learns=False), late="last"
    )
