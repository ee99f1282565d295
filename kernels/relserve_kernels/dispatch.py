"""Which path runs where: the one place that looks at the device, and at what a setting says instead."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor, device

from relserve_kernels import reference
from relserve_kernels.choice import what_forbids
from relserve_kernels.cpu import build, native, plain
from relserve_kernels.pages import PagedX, ProjectKeys


class Path(Protocol):
    """What each path offers; `store` and `absorbed` say what the functions do."""

    def store_x(self, x: Tensor, pool: Tensor, slots: Tensor) -> None:
        """See store.store_x."""

    def attend_absorbed(
        self,
        query: Tensor,
        query_start: Tensor,
        x: PagedX,
        wk: Tensor,
        wv: Tensor,
        value_bias: Tensor | None,
        scale: float,
        out: Tensor,
    ) -> None:
        """See absorbed.attend_absorbed."""

    def attend_value_absorbed(
        self,
        query: Tensor,
        query_start: Tensor,
        x: PagedX,
        project_keys: ProjectKeys,
        wv: Tensor,
        value_bias: Tensor | None,
        scale: float,
        out: Tensor,
    ) -> None:
        """See absorbed.attend_value_absorbed."""


def path_for(where: device, kernels: str = "") -> Path:
    """The path of a device: a GPU's in Triton, a CPU's compiled or in plain torch, else the reference.

    Args:
        where: the device of the tensors.
        kernels: "triton" takes Triton's on a CPU too, by its interpreter, and "cpu" a CPU's; "": as the
            device says.

    Raises:
        ValueError: the device cannot run these kernels.
    """
    if kernels and (reason := what_forbids(where.type, kernels)):
        raise ValueError(f"kernels {kernels!r}: {reason}")
    if kernels == "triton" or where.type == "cuda":
        from relserve_kernels.gpu import path  # imports Triton

        return path
    if where.type != "cpu":
        return reference
    return native if build.load() else plain
