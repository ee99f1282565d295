"""The sizes of the Triton kernels' tiles."""

from __future__ import annotations

from typing import NamedTuple

import torch

STORE_WIDE = GATHER_WIDE = SHARE_WIDE = 1024
SHARE_WARPS = 4


class Tile(NamedTuple):
    """Of one kernel that reads X: tokens and columns of X that it takes at once, and how Triton runs it."""

    rows: int
    wide: int
    warps: int
    stages: int

    def constants(self, heads: int) -> dict[str, int]:
        """The kernel's constants."""
        return {"HEADS": heads, "ROWS": self.rows, "WIDE": self.wide}

    def launch(self) -> dict[str, int]:
        """Triton's options."""
        return {"num_warps": self.warps, "num_stages": self.stages}


class Tiles(NamedTuple):
    """The tiles for one number type, and the heads of a model.

    The accumulator of the weighted sums is [heads, sums.wide] in float32: all of d does not fit a
    multiprocessor, so its columns are split among programs, which each read their part of X.
    """

    heads: int
    scores: Tile
    sums: Tile


def tiles_of(num_heads: int, dtype: torch.dtype) -> Tiles:
    """Tiles for the heads of a model: at least 16, which is the least that tensor cores take."""
    heads = max(16, 1 << (num_heads - 1).bit_length())
    if dtype == torch.float32:
        return Tiles(heads, Tile(32, 32, 4, 3), Tile(16, 64, 4, 3))
    return Tiles(heads, Tile(64, 64, 4, 3), Tile(64, 256, 8, 3))  # the best of eleven on an H200
