"""Requests that arrive one by one: lengths drawn from a set, gaps from a Gamma distribution."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.effective.lengths import RequestLengths


class TimedRequest(NamedTuple):
    """A request: when it comes, tokens of its prompt, tokens that it will say."""

    arrival_s: float
    num_prompt: int
    num_output: int


def gaps(cv: float, count: int, seed: int) -> np.ndarray:
    """Gaps between arrivals, 1 on average; Gamma with a coefficient of variation (1: Poisson arrivals).

    Raises:
        ValueError: `cv` is not positive.
    """
    if cv <= 0:
        raise ValueError(f"the coefficient of variation is {cv}; it must be positive, 1 is Poisson")
    return _generator("gaps", cv, seed).gamma(1 / cv**2, cv**2, count)


def workload(
    lengths: Sequence[RequestLengths], rate: float, cv: float, count: int, seed: int
) -> list[TimedRequest]:
    """`count` requests at `rate` a second.

    A seed draws the same requests, and the same gaps but for their scale, at every rate. The gaps are scaled
    so that the last request comes at (count - 1) / rate: bursts would else change the rate itself.

    Raises:
        ValueError: `rate` or `cv` is not positive.
    """
    if rate <= 0:
        raise ValueError(f"the rate is {rate} requests a second; it must be positive")
    drawn = _generator("lengths", 0.0, seed).integers(len(lengths), size=count)
    times = np.concatenate([[0.0], np.cumsum(gaps(cv, count - 1, seed))])
    if times[-1] > 0:
        times *= (count - 1) / (rate * times[-1])
    return [TimedRequest(float(time), *lengths[i]) for time, i in zip(times, drawn, strict=True)]


def _generator(what: str, cv: float, seed: int) -> np.random.Generator:
    return np.random.default_rng([zlib.crc32(f"{what} {cv}".encode()), seed])
