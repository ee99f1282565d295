"""A small model's liking for a choice by its place or its name, and how it is taken out of probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence

LEAST = 1e-9  # a probability below counts as this: one read that tells 0 does not rule a choice out
EMPTY = ("", "N/A", "[MASK]")  # inputs that say nothing (Zhao et al. 2021, "Calibrate Before Use", section 5)


def orders_of(num: int, num_reads: int) -> list[tuple[int, ...]]:
    """The orders in which choices are shown, each as their numbers; the first is the given order.

    As many orders as choices are the rotations, in which each choice stands in each place once. Fewer cannot
    do that; if their number is even, half of them are rotations and the others these backwards, so that the
    mean place is the same for all choices.

    Args:
        num: choices.
        num_reads: orders, from 1 to `num`.
    """
    is_paired = num_reads < num and num_reads % 2 == 0
    num_rotations = num_reads // 2 if is_paired else num_reads
    starts = [number * num // num_rotations for number in range(num_rotations)]
    rotations = [(*range(start, num), *range(start)) for start in starts]
    return rotations + [order[::-1] for order in rotations] if is_paired else rotations


def averaged(reads: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """The geometric mean of several reads of the same choices, in one order, made to add up to 1.

    In log space, because a model that prefers a place multiplies the weight of the choice there by some
    factor. Where each choice stood in each place once, the product of the factors is the same for all
    choices, and goes out. The arithmetic mean would leave a part of it.
    """
    return _in_proportion([sum(map(_log, column)) / len(reads) for column in zip(*reads, strict=True)])


def divided(found: Sequence[float], prior: Sequence[float]) -> tuple[float, ...]:
    """Probabilities divided by those that the choices have without any input, made to add up to 1.

    That is contextual calibration (Zhao et al. 2021, "Calibrate Before Use", Eq. 1 with W = diag(prior)^-1).
    """
    return _in_proportion([_log(p) - _log(q) for p, q in zip(found, prior, strict=True)])


def _log(probability: float) -> float:
    return math.log(max(probability, LEAST))


def _in_proportion(logs: Sequence[float]) -> tuple[float, ...]:
    highest = max(logs)
    weights = [math.exp(log - highest) for log in logs]
    total = sum(weights)
    return tuple(weight / total for weight in weights)
