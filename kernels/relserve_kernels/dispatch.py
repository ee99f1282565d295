"""Which path runs where: the one place that looks at the device."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor, device

from relserve_kernels import reference
from relserve_kernels.cpu import build, native, plain
from relserve_kernels.pages import PagedX, Project, ProjectKeys


class Path(Protocol):
    """What each path offers; `store`, `absorbed` and `reproject` say what the functions do."""

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

    def attend_reprojected(
        self, query: Tensor, query_start: Tensor, x: PagedX, project: Project, scale: float, out: Tensor
    ) -> None:
        """See reproject.attend_reprojected."""


def path_for(where: device) -> Path:
    """The path of a device: of a CPU the compiled one or plain torch, of any other the reference."""
    if where.type != "cpu":
        return reference
    return native if build.load() else plain
