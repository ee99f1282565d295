"""Grammars' masks on a CPU: logits of tokens that may not come are set to minus infinity, many at a time.

xgrammar's own loop goes through them one by one, in both copies of the logits that vLLM makes for it: a
thirtieth of a small model's time where answers are choices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


def quicken_masks() -> None:
    """Have the workers of this process apply masks so; xgrammar comes with vLLM."""
    import xgrammar

    theirs = xgrammar.apply_token_bitmask_inplace
    if not isinstance(theirs, _Masks):
        xgrammar.apply_token_bitmask_inplace = _Masks(theirs)


class _Masks:
    """Stands in for `xgrammar.apply_token_bitmask_inplace`, which it calls for what it does not do itself."""

    def __init__(self, theirs: Any) -> None:
        self._theirs = theirs

    def __call__(self, logits: torch.Tensor, bitmask: torch.Tensor, **more: Any) -> None:
        rows = more.pop("indices", None)
        if more or not (logits.is_cpu and bitmask.is_cpu and logits.dim() == bitmask.dim() == 2):
            self._theirs(logits, bitmask, indices=rows, **more)
        elif rows is None:
            mask(logits, bitmask)
        else:
            chosen = logits[rows]
            mask(chosen, bitmask[rows])
            logits[rows] = chosen


def mask(logits: torch.Tensor, bitmask: torch.Tensor) -> None:
    """Set the logits to minus infinity whose bits are 0; those beyond the last bit stay.

    Args:
        bitmask: 32 bits a number, the lowest first.
    """
    bits = np.unpackbits(bitmask.contiguous().numpy().view(np.uint8), axis=1, bitorder="little")
    forbidden = torch.from_numpy(bits[:, : logits.shape[1]] == 0)
    logits[:, : forbidden.shape[1]].masked_fill_(forbidden, -torch.inf)
