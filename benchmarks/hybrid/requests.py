"""Single requests for a real engine: made-up prompts of given lengths, and what became of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from benchmarks.effective.attainment import RequestRecord
from benchmarks.effective.lengths import RequestLengths
from benchmarks.effective.workload import TimedRequest
from lab.simulator.workload import RelSpec, RowSpec

CAP = 256  # max_tokens of every request; none is told how long the others, or it, will be
FIRST_TOKEN, LAST_TOKEN = 16, 8000  # of the vocabulary, without the special ones


def requests(arrivals: Sequence[TimedRequest], seed: int) -> list[RelSpec]:
    """A request for each arrival, no two with a common beginning; its client knows of no relQuery.

    Raises:
        ValueError: an output is longer than the cap that all requests declare.
    """
    rng = random.Random(f"prompts {seed}")
    longest = max(arrival.num_output for arrival in arrivals)
    if longest > CAP:
        raise ValueError(f"an output of {longest} tokens is longer than the cap of {CAP}")
    return [
        RelSpec(f"r{i}", each.arrival_s, (RowSpec(_prompt(rng, each.num_prompt), each.num_output),), CAP,
                is_named=False)
        for i, each in enumerate(arrivals)
    ]  # fmt: skip


def scaled(lengths: Sequence[RequestLengths], factor: float) -> list[RequestLengths]:
    """Lengths times a factor, a token each at least."""
    return [RequestLengths(*(max(1, round(factor * each)) for each in pair)) for pair in lengths]


def stretched(trace: Sequence[RelSpec], factor: float) -> list[RelSpec]:
    """The trace with arrivals times a factor."""
    return [replace(each, arrival_s=factor * each.arrival_s) for each in trace]


def records(trace: Sequence[RelSpec], token_s: dict[str, list[float]], factor: float) -> list[RequestRecord]:
    """What became of each request of a trace, all times multiplied by a factor.

    Args:
        trace: as it was served.
        token_s: seconds from the beginning to each token, by request, as a worker tells them.
    """
    found = []
    for each in trace:
        times = [factor * s for s in token_s.get(f"{each.rel_id}-0", [])]
        is_finished = len(times) == each.rows[0].output_tokens
        found.append(RequestRecord(factor * each.arrival_s, times, is_finished))
    return found


def _prompt(rng: random.Random, length: int) -> tuple[int, ...]:
    return tuple(rng.choices(range(FIRST_TOKEN, LAST_TOKEN), k=length))


def latency_ms(found: Sequence[RequestRecord]) -> dict[str, Any]:
    """Means over requests: time to first token, time between tokens, whole time."""
    first = [r.token_s[0] - r.arrival_s for r in found]
    between = [(r.token_s[-1] - r.token_s[0]) / (len(r.token_s) - 1) for r in found if len(r.token_s) > 1]
    whole = [r.token_s[-1] - r.arrival_s for r in found]
    return {name: 1e3 * sum(x) / len(x) for name, x in (("ttft", first), ("tbt", between), ("end", whole))}
