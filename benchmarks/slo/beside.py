"""Rows that decode beside long prompts: the requests, and whether each kept its limits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.effective.attainment import RequestRecord, Slo
from benchmarks.effective.workload import Arrival, gaps

ROWS, ROW_PROMPT, ROW_OUTPUT = 150, 64, (100, 256)  # rows that decode at a time; tokens of each
PROMPT, PROMPT_OUTPUT = 2000, 16  # tokens of a long prompt, and of its answer


class Load(NamedTuple):
    """What comes in a run.

    Attributes:
        prompts_per_s: long prompts.
        row_s: that a row takes, from which follows how often rows come: so that ROWS decode at a time.
        warm_s, seconds: requests that come in the former are not judged; the latter follow.
    """

    prompts_per_s: float
    row_s: float
    warm_s: float
    seconds: float


def arrivals(load: Load, seed: int) -> list[Arrival]:
    """Rows and prompts by Poisson processes, and rows that are there when it begins, partly said."""
    rng = np.random.default_rng([19, seed])
    end_s = load.warm_s + load.seconds
    low, high = ROW_OUTPUT
    lengths = np.arange(low, high)
    whole = rng.choice(lengths, ROWS, p=lengths / lengths.sum())  # long ones are met more often
    there = [Arrival(0.0, ROW_PROMPT, int(left) + 2) for left in whole * rng.random(ROWS)]
    rows = [
        Arrival(at_s, ROW_PROMPT, int(rng.integers(low, high)))
        for at_s in _poisson(ROWS / load.row_s, end_s, 2 * seed)
    ]
    prompts = [
        Arrival(at_s, PROMPT, PROMPT_OUTPUT) for at_s in _poisson(load.prompts_per_s, end_s, 2 * seed + 1)
    ]
    return sorted([*there, *rows, *prompts])


def _poisson(rate: float, end_s: float, seed: int) -> list[float]:
    times = np.cumsum(gaps(1.0, max(4, round(2 * rate * end_s) + 20), seed)) / rate
    return [float(at_s) for at_s in times if at_s < end_s]


class Kept(NamedTuple):
    """How a run kept its limits.

    Attributes:
        attained: share of the requests within both limits; `ttft` and `tpot`: within one.
        tpot_p99_s, ttft_p99_s: 99th percentiles over requests.
        num_requests: that were judged.
    """

    attained: float
    ttft: float
    tpot: float
    tpot_p99_s: float
    ttft_p99_s: float
    num_requests: int


def kept(records: Sequence[RequestRecord], slo: Slo, warm_s: float) -> Kept:
    """Judge the requests that came after the beginning.

    Raises:
        ValueError: there are none, or one did not end.
    """
    judged = [record for record in records if record.arrival_s >= warm_s]
    if not judged or not all(record.is_finished for record in judged):
        raise ValueError("limits are judged of requests that ended, and there is none, or one that did not")
    ttft_s = np.array([record.token_s[0] - record.arrival_s for record in judged])
    tpot_s = np.array([(r.token_s[-1] - r.token_s[0]) / max(len(r.token_s) - 1, 1) for r in judged])
    first, others = ttft_s <= slo.ttft_s, tpot_s <= slo.tbt_s
    return Kept(
        float((first & others).mean()), float(first.mean()), float(others.mean()),
        float(np.percentile(tpot_s, 99)), float(np.percentile(ttft_s, 99)), len(judged),
    )  # fmt: skip
