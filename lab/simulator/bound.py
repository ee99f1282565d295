"""How low the mean latency could be, under assumptions: shortest remaining processing time on a fluid engine.

It is assumed that

* the engine is fluid: a relQuery is an amount of work in seconds, done in slices of any size, one relQuery
  after the other; so nobody waits for a step to end, and a row's tokens need not follow one another;
* batches are always full: a second of work is a second whoever's it is, and however few rows are left;
* every output length is known from the start;
* preemption is free: who is interrupted keeps what was computed, and memory and slots never run out;
* prompts that one relQuery repeats within itself are computed once, those of other relQueries always.

A real engine is kept from reaching it by its steps, its small batches and its memory; it could get below it
only by sharing prefixes across relQueries, or where small batches are faster than their share of a full one.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

from lab.simulator.workload import RelSpec
from relserve.policies.model.linear import CostModel


class RelQueryWork(NamedTuple):
    """A relQuery as work: when it comes, and the seconds that an engine with full batches spends on it."""

    arrival_s: float
    work_s: float


def jobs_of(trace: Sequence[RelSpec], cost: CostModel, block_size: int, total_s: float) -> list[RelQueryWork]:
    """The relQueries of a trace as work, by the slopes of the cost model and the true output lengths.

    Args:
        total_s: what all of them take together, in full batches; the works are scaled to it, so the bases of
            the steps, and what relQueries share, are shared out over them.
    """
    works = [_work_s(rel, cost, block_size) for rel in trace]
    scale = total_s / sum(works)
    return [RelQueryWork(rel.arrival_s, scale * work) for rel, work in zip(trace, works, strict=True)]


def _work_s(rel: RelSpec, cost: CostModel, block_size: int) -> float:
    hashes = [row.block_hashes(block_size) for row in rel.rows]
    repeated = sum(map(len, hashes)) - len(set().union(*hashes))
    tokens = sum(len(row.prompt) for row in rel.rows) - block_size * repeated
    outputs = sum(row.output_tokens for row in rel.rows)
    return cost.prefill_per_token_s * tokens + cost.decode_per_request_s * outputs


def shortest_first(jobs: Sequence[RelQueryWork]) -> list[float]:
    """Latencies in seconds under preemptive SRPT on one server that works on one job at a time.

    No schedule has a lower mean when the server can do no more than one second of work a second (Schrage
    1968). What that assumes of an engine stands above.
    """
    coming = sorted(jobs)
    waiting: list[tuple[float, float]] = []  # work left, arrival
    latencies: list[float] = []
    now, i = 0.0, 0
    while i < len(coming) or waiting:
        if not waiting:
            now = max(now, coming[i].arrival_s)
        while i < len(coming) and coming[i].arrival_s <= now:
            heapq.heappush(waiting, (coming[i].work_s, coming[i].arrival_s))
            i += 1
        remaining, arrival = heapq.heappop(waiting)
        until = coming[i].arrival_s if i < len(coming) else float("inf")
        if now + remaining <= until:
            now += remaining
            latencies.append(now - arrival)
        else:
            heapq.heappush(waiting, (remaining - (until - now), arrival))
            now = until
    return latencies
