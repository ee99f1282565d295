"""The traces that a GPU serves, drawn where the tables are and carried as one file to where they are not."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import NamedTuple

from lab.simulator.workload import RelSpec


class GpuTraces(NamedTuple):
    """What every variant serves: a relQuery of each kind to warm up, and one trace a seed at a rate of 1."""

    warm: list[RelSpec]
    seeds: list[list[RelSpec]]


def drawn(num_seeds: int, count: int, max_rows: int, warm_rows: int) -> GpuTraces:
    """Draw them from the shared tables."""
    from benchmarks.relquery_workload import encoder, one_of_each_kind, relqueries

    encode = encoder()
    warm = one_of_each_kind(warm_rows, 999, encode)
    return GpuTraces(
        warm, [relqueries(count, max_rows, 1.0, seed, encode) for seed in range(1, num_seeds + 1)]
    )


def load(path: Path) -> GpuTraces:
    """Those that `save` wrote."""
    warm, seeds = pickle.loads(path.read_bytes())
    return GpuTraces(warm, seeds)


def save(traces: GpuTraces, path: Path) -> None:
    """Keep them in a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(tuple(traces)))
