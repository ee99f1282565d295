"""The traces that a GPU serves, drawn where the tables are and carried as one file to where they are not.

`python -m benchmarks.gpu.traces FILE` draws what a lease of fifteen minutes can serve.
"""

from __future__ import annotations

import argparse
import pickle
from pathlib import Path
from typing import NamedTuple

from lab.simulator.workload import RelSpec


class Traces(NamedTuple):
    """What every variant serves: a relQuery of each kind to warm up, and one trace a seed at a rate of 1."""

    warm: list[RelSpec]
    seeds: list[list[RelSpec]]


def drawn(num_seeds: int, count: int, max_rows: int, warm_rows: int) -> Traces:
    """Draw them from the shared tables."""
    from benchmarks.relquery_workload import encoder, one_of_each_kind, relqueries

    encode = encoder()
    warm = one_of_each_kind(warm_rows, 999, encode)
    return Traces(warm, [relqueries(count, max_rows, 1.0, seed, encode) for seed in range(1, num_seeds + 1)])


def load(path: Path) -> Traces:
    """Those that `save` wrote."""
    warm, seeds = pickle.loads(path.read_bytes())
    return Traces(warm, seeds)


def save(traces: Traces, path: Path) -> None:
    """Keep them in a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(tuple(traces)))


def main() -> None:
    """Draw and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--relqueries", type=int, default=60)
    parser.add_argument("--max-rows", type=int, default=100)
    parser.add_argument("--warm-rows", type=int, default=8, help="of each template")
    args = parser.parse_args()
    save(drawn(args.seeds, args.relqueries, args.max_rows, args.warm_rows), args.file)


if __name__ == "__main__":
    main()
