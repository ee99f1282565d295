"""Rows that decode beside long prompts: the requests, and whether each kept its limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.deadlines.workflows import DeadlineStepSpec
from benchmarks.effective.attainment import RequestLimits, RequestRecord
from benchmarks.effective.workload import TimedRequest, gaps
from benchmarks.hybrid.requests import requests
from lab.simulator.workload import RelSpec

ROWS, ROW_PROMPT, ROW_OUTPUT = 150, 64, (100, 256)  # rows that decode at a time; tokens of each
PROMPT, PROMPT_OUTPUT = 2000, 16  # tokens of a long prompt, and of its answer


class BesideLoad(NamedTuple):
    """What comes in a run.

    Attributes:
        prompts_per_s: long prompts.
        warm_s, seconds: requests that come in the former are not judged; the latter follow.
        rows_each: in each of the ROWS places at most, one after the other.
    """

    prompts_per_s: float
    warm_s: float
    seconds: float
    rows_each: int

    @property
    def end_s(self) -> float:
        """When nothing more comes."""
        return self.warm_s + self.seconds


def trace(load: BesideLoad, seed: int) -> list[RelSpec]:
    """Long prompts by a Poisson process, and rows: where one ends the next begins, so ROWS decode at a time.

    The first ones have partly said what they say.
    """
    rng = np.random.default_rng([19, seed])
    low, high = ROW_OUTPUT
    lengths = np.arange(low, high)
    whole = rng.choice(lengths, ROWS, p=lengths / lengths.sum())  # long ones are met more often
    first = (whole * rng.random(ROWS)).astype(int) + 2
    outputs = np.column_stack([first, rng.integers(low, high, (ROWS, load.rows_each - 1))])
    rows = requests([TimedRequest(0.0, ROW_PROMPT, int(tokens)) for tokens in outputs.flat], 2 * seed)
    prompts = requests(
        [TimedRequest(at_s, PROMPT, PROMPT_OUTPUT) for at_s in _poisson(load, seed)], 2 * seed + 1
    )
    chained = [
        DeadlineStepSpec(
            f"row{number}", 0.0, row.rows, row.output_cap, is_named=False,
            before=f"row{number - 1}" if number % load.rows_each else "",
        )
        for number, row in enumerate(rows)
    ]  # fmt: skip
    return [*chained, *prompts]


def _poisson(load: BesideLoad, seed: int) -> list[float]:
    count = max(4, round(2 * load.prompts_per_s * load.end_s) + 20)
    times = np.cumsum(gaps(1.0, count, 2 * seed + 1)) / load.prompts_per_s
    found = [float(at_s) for at_s in times if at_s < load.end_s]
    return found or [load.warm_s]  # a short run on a slow machine has one, too


def came(specs: Sequence[RelSpec], token_s: Mapping[str, Sequence[float]]) -> list[RequestRecord]:
    """What became of the requests that began, each row's from when the one before it had ended."""
    found = []
    for spec in specs:
        times = token_s.get(f"{spec.rel_id}-0", ())
        if not times:
            continue
        before = spec.before if isinstance(spec, DeadlineStepSpec) else ""
        arrival_s = token_s[f"{before}-0"][-1] if before else spec.arrival_s
        found.append(RequestRecord(arrival_s, times, len(times) == spec.rows[0].output_tokens))
    return found


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


def kept(records: Sequence[RequestRecord], slo: RequestLimits, warm_s: float) -> Kept:
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
