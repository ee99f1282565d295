"""The sizes of the Triton kernels' tiles."""

from __future__ import annotations

from typing import NamedTuple

import torch

STORE_WIDE = GATHER_WIDE = 1024
WARPS = 4


class Tiles(NamedTuple):
    """Heads, rows and columns of the tiles for one number type.

    The accumulator of the weighted sums is [heads, sum_wide] in float32: all of d does not fit a
    multiprocessor, so its columns are split among programs, which each read their part of X.
    """

    heads: int
    score_rows: int
    score_wide: int
    sum_rows: int
    sum_wide: int

    def for_scores(self) -> dict[str, int]:
        """The constants of scores_of_x."""
        return {"HEADS": self.heads, "ROWS": self.score_rows, "WIDE": self.score_wide}

    def for_sums(self) -> dict[str, int]:
        """The constants of sums_of_x."""
        return {"HEADS": self.heads, "ROWS": self.sum_rows, "WIDE": self.sum_wide}


def tiles_of(num_heads: int, dtype: torch.dtype) -> Tiles:
    """Tiles for the heads of a model: at least 16, which is the least that tensor cores take."""
    heads = max(16, 1 << (num_heads - 1).bit_length())
    if dtype == torch.float32:
        return Tiles(heads, 32, 32, 16, 64)
    return Tiles(heads, 64, 64, 32, 64 if heads > 32 else 128)
