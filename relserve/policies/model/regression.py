"""Least squares for step models: coefficients of 0 at least, outliers held back, old steps forgotten."""

from __future__ import annotations

import numpy as np

from relserve.policies.model.linear import HUBER
from relserve.policies.model.work import Column, Table

RIDGE = 0.5  # of the mean square of a column: what the latest steps do not tell stays as it was


def non_negative(columns: Table, seconds: Column, weights: Column, ridge: Column | None = None) -> Column:
    """Coefficients of 0 at least: those that come out below are left out one after the other.

    Args:
        ridge: draws each coefficient to 0.
    """
    scale = np.maximum(np.abs(columns).max(axis=0), 1e-30)
    scaled = columns / scale
    gram, right = (scaled.T * weights) @ scaled, (scaled.T * weights) @ seconds
    if ridge is not None:
        gram[np.diag_indices_from(gram)] += ridge / scale**2
    used = list(range(columns.shape[1]))
    found = np.zeros(columns.shape[1])
    while used:
        solution = np.linalg.lstsq(gram[np.ix_(used, used)], right[used], rcond=1e-10)[0]
        if solution.min() >= 0:
            found[used] = solution
            break
        used.pop(int(np.argmin(solution)))
    unscaled: Column = found / scale
    return unscaled


def robust(columns: Table, seconds: Column, base: Column, ridge: Column | None = None) -> Column:
    """The same with Huber weights on top of the weights `base`."""
    found = non_negative(columns, seconds, base, ridge)
    for _ in range(3):
        errors = np.abs(seconds - columns @ found) * np.sqrt(base)
        spread = max(1.4826 * float(np.median(errors)), 1e-9)
        kept: Column = np.minimum(1.0, HUBER * spread / np.maximum(errors, 1e-12))
        found = non_negative(columns, seconds, base * kept, ridge)
    return found


class Forgetting:
    """Recursive least squares with forgetting, around coefficients that are known already.

    It keeps the normal equations, which are scaled by `keep` with each step, and gives the change that the
    latest steps ask for; none in directions of which they say nothing, so that nothing winds up.
    """

    def __init__(self, scale: Column, keep: float) -> None:
        self._keep = keep
        self._gram: Table = np.zeros((len(scale), len(scale)))
        self._right: Column = np.zeros(len(scale))
        self._ridge = np.diag(RIDGE * np.maximum(scale, 1e-30) ** 2)

    def add(self, row: Column, residual: float, weight: float = 1.0) -> None:
        """One step: its columns, and by how much it took longer than the known coefficients say."""
        self._gram *= self._keep
        self._gram += weight * np.outer(row, row)
        self._right *= self._keep
        self._right += weight * residual * row

    def change(self, weight: float = 1.0) -> Column:
        """What is to be added to the known coefficients; `weight` is that of a usual step."""
        change: Column = np.linalg.solve(self._gram + weight * self._ridge, self._right).astype(np.float64)
        return change
