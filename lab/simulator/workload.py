"""Workloads: relQueries with arrival times, for the simulator and for the real benchmark alike."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class RowSpec:
    """One request: its prompt's token ids, and how many tokens it will say."""

    prompt: tuple[int, ...]
    output_tokens: int
    _hashes: dict[int, tuple[int, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def block_hashes(self, block_size: int) -> tuple[int, ...]:
        """A chained hash for each full block of the prompt, as the prefix cache keys them; computed once."""
        if block_size not in self._hashes:
            self._hashes[block_size] = self._chain(block_size)
        return self._hashes[block_size]

    def _chain(self, block_size: int) -> tuple[int, ...]:
        hashes, parent = [], 0
        for start in range(0, len(self.prompt) - block_size + 1, block_size):
            parent = hash((parent, self.prompt[start : start + block_size]))
            hashes.append(parent)
        return tuple(hashes)


@dataclass(frozen=True, slots=True)
class RelSpec:
    """One relQuery: when it comes, its rows, and the output cap it declares.

    Attributes:
        knows_outputs: policies are told how many tokens each row will say; else only the cap.
        is_named: it is a relQuery; else, with one row, an ordinary request of a client that knows of none.
        kind: relQueries of one kind have outputs of one length distribution; None: of none that comes again.
        slo_s: in which it is to be done, from its arrival on, a workflow from the arrival of its first step
            on; None: any time.
        workflow_id, stage: see `RelTag`; "" for none.
    """

    rel_id: str
    arrival_s: float
    rows: tuple[RowSpec, ...]
    output_cap: int
    knows_outputs: bool = False
    is_named: bool = True
    kind: str | None = None
    slo_s: float | None = None
    workflow_id: str = ""
    stage: str = ""


def poisson_arrivals(rate: float, count: int, rng: random.Random) -> list[float]:
    """`count` arrival times in seconds of a Poisson process with `rate` a second."""
    return gamma_arrivals(rate, count, 1.0, rng)


def gamma_arrivals(rate: float, count: int, burstiness: float, rng: random.Random) -> list[float]:
    """Arrival times with Gamma-distributed gaps.

    Args:
        burstiness: squared coefficient of variation of the gaps; 1 is Poisson, more is burstier.
    """
    times, now = [], 0.0
    for _ in range(count):
        now += rng.gammavariate(1.0 / burstiness, burstiness / rate)
        times.append(now)
    return times


def replayed_arrivals(times_s: Sequence[float], rate: float, count: int) -> list[float]:
    """The first `count` arrivals of a recorded trace, stretched to `rate` a second on average.

    Raises:
        ValueError: the trace has fewer arrivals, or they all come at once.
    """
    times = sorted(times_s)[:count]
    if len(times) < count or times[-1] == times[0]:
        raise ValueError(f"a trace of {len(times)} arrivals cannot give {count} of them at a rate")
    stretch = (count / rate) / (times[-1] - times[0])
    return [(t - times[0]) * stretch for t in times]


def retimed(trace: Sequence[RelSpec], arrivals: Sequence[float]) -> list[RelSpec]:
    """The same relQueries at other arrival times."""
    return [replace(r, arrival_s=t) for r, t in zip(trace, sorted(arrivals), strict=True)]


def longest_known(trace: Sequence[RelSpec]) -> list[RelSpec]:
    """The trace with caps equal to the longest true output of each relQuery."""
    return [replace(rel, output_cap=max(row.output_tokens for row in rel.rows)) for rel in trace]


def lengths_known(trace: Sequence[RelSpec]) -> list[RelSpec]:
    """The trace with the true output length of every row told to the policies."""
    return [replace(rel, knows_outputs=True) for rel in longest_known(trace)]
