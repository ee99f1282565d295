"""Writing X into its pages."""

from __future__ import annotations

import torch
from torch import Tensor

from relserve_kernels.dispatch import Path, path_for


def store_x(x: Tensor, pool: Tensor, slots: Tensor, path: Path | None = None) -> None:
    """Write the layer's input of new tokens into the paged pool.

    Args:
        x: [t, d].
        pool: [num_blocks, tokens_per_block, d], changed.
        slots: int64 [t], page * tokens_per_block + place in the page; a token with -1 is not written.
        path: whose kernels; None: those of the device.

    Raises:
        ValueError: a shape or number type differs.
    """
    if x.dim() != 2 or pool.dim() != 3 or x.shape[1] != pool.shape[2] or x.dtype != pool.dtype:
        raise ValueError(
            f"x {list(x.shape)} of {x.dtype} does not fit the pool {list(pool.shape)} of {pool.dtype}:"
            " expected [t, d] and [num_blocks, tokens_per_block, d] of one number type"
        )
    if slots.dtype != torch.int64 or slots.shape != x.shape[:1]:
        raise ValueError(
            f"slots: expected int64 [{x.shape[0]}], one for each row of x,"
            f" got {slots.dtype} {list(slots.shape)}"
        )
    (path or path_for(pool.device)).store_x(x, pool, slots)
