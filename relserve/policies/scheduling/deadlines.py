"""The order of least total latency in which everybody is in time (Smith 1956)."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

DUE = "due_s"  # the book's column of when a relQuery with a deadline has to be done; infinite without one
LAST = "last_s"  # likewise, after which what follows would be late even on an engine of its own
BACK = "back_until_s"  # likewise, until when what cannot be in time has no promise


class DeadlineJob(NamedTuple):
    """Something to be done: the less its value, the sooner it is wanted.

    Attributes:
        work_s: how long it takes.
        latest_s: when it is to be done, counted from now.
        slot: tells it from the others.
    """

    value: float
    work_s: float
    latest_s: float
    slot: int


def shortest_in_time(jobs: Sequence[DeadlineJob]) -> list[DeadlineJob] | None:
    """The order; None where that of the values keeps everybody in time.

    From the last place to the first: of those that may be done as late as that, the one of the greatest value
    takes it, of equals the one that may be later. Where none may, the one that may be the latest does, and
    is too late by the least.
    """
    done_s = 0.0
    for job in sorted(jobs):
        done_s += job.work_s
        if done_s > job.latest_s:
            return _by_smith(jobs, sum([job.work_s for job in jobs]))
    return None


def _by_smith(jobs: Sequence[DeadlineJob], done_s: float) -> list[DeadlineJob]:
    coming = sorted(jobs, key=lambda job: job.latest_s)
    may: list[tuple[float, float, int, DeadlineJob]] = []  # take the last place that is free
    backwards: list[DeadlineJob] = []
    while coming or may:
        while coming and (not may or coming[-1].latest_s >= done_s):
            job = coming.pop()
            heapq.heappush(may, (-job.value, -job.latest_s, job.slot, job))
        job = heapq.heappop(may)[-1]
        backwards.append(job)
        done_s -= job.work_s
    return backwards[::-1]
