"""What became of requests: how many met their limits, and what that metric does not see.

The paper (section 6.2) counts a request if its time to first token (TTFT) and the 99th percentile of the
times between its own tokens (P99 TBT) are within limits. One long pause among a few hundred tokens escapes
that percentile, so `strict` counts a request only if every gap is within the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class RequestLimits(NamedTuple):
    """Limits of a request, in seconds: the first token, and the gap between two tokens."""

    ttft_s: float
    tbt_s: float


class RequestRecord(NamedTuple):
    """A request as its caller saw it.

    Attributes:
        token_s: when each output token came, ascending, on the clock of `arrival_s`; empty: none came.
        is_finished: whether the last token of the output is among them.
    """

    arrival_s: float
    token_s: np.ndarray | Sequence[float]
    is_finished: bool = True


class Attainment(NamedTuple):
    """Of all requests of a run.

    Attributes:
        attained, strict: shares that met both limits, by P99 TBT and by every gap; unfinished ones do not.
        ttft: the share whose first token came in time.
        finished_per_s: finished requests over the time from the first arrival to the last token.
        p99_s: 99th percentile of the time from arrival to last token; infinite for unfinished requests.
        worst_ttft_s: the longest wait for a first token; infinite where none came.
    """

    attained: float
    strict: float
    ttft: float
    finished_per_s: float
    p99_s: float
    worst_ttft_s: float


def attainment(records: Sequence[RequestRecord], slo: RequestLimits) -> Attainment:
    """Judge the requests of a run.

    Raises:
        ValueError: there are none.
    """
    if not records:
        raise ValueError("no request was recorded; attainment is a share of the recorded ones")
    first = np.array([r.token_s[0] - r.arrival_s if len(r.token_s) else np.inf for r in records])
    last = np.array([r.token_s[-1] - r.arrival_s if r.is_finished else np.inf for r in records])
    gaps = np.array([_gaps(r) for r in records])
    in_time, finished = first <= slo.ttft_s, np.isfinite(last)
    good = in_time & finished
    ends = [r.token_s[-1] for r in records if r.is_finished]
    span_s = max(ends) - min(r.arrival_s for r in records) if ends else np.inf
    return Attainment(
        float(np.mean(good & (gaps[:, 0] <= slo.tbt_s))),
        float(np.mean(good & (gaps[:, 1] <= slo.tbt_s))),
        float(np.mean(in_time)),
        float(finished.sum() / span_s),
        float(np.percentile(last, 99, method="higher")),
        float(first.max()),
    )


def _gaps(record: RequestRecord) -> tuple[float, float]:
    """P99 and maximum of the times between a request's tokens; 0 where it has fewer than two."""
    between = np.diff(record.token_s)
    return (float(np.percentile(between, 99)), float(between.max())) if len(between) else (0.0, 0.0)
