"""What a hidden cache lets in, and what relQueries gain by it where the pool holds 40 % of the load.

First, 16 requests that end at 256 tokens come at once to engines whose pools have the same bytes, one of keys
and values, one of layers' inputs (X): how many run at once. Then the same relQueries are served by stock
FCFS, by relserve's default scheduler, by that with cache="hybrid", and, as the most that any cache could
bring, by the default with plenty of memory. The model is OPT-style, made up
(`made_up_opt`), in bfloat16. The load is what relserve's scheduler holds with plenty of memory.

relQueries come as a Poisson process at a multiple of what stock FCFS serves with that pool when all come at
once. Each has rows of one of the RelServe paper's tables and templates, and declares llm()'s default cap; a
seed draws tables, templates, rows, outputs and arrivals. All have seen each template before. Engines run on
one thread, and their clock is the processor time that they take; see `hybrid.lanes`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.claims import Exact, Higher, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.effective.workload import TimedRequest
from benchmarks.hybrid.lanes import Lane, Start, on_lanes, side_by_side
from benchmarks.hybrid.requests import requests, stretched
from benchmarks.hybrid.ways import HybridWay, engine_of
from benchmarks.plots import bars
from benchmarks.relquery_engines import BLOCK_SIZE, at_once
from benchmarks.relquery_workload import declared, encoder, one_of_each_kind, relqueries
from lab.simulator.workload import RelSpec

ROOMS = (
    "relserve/vllm_plugin", "relserve/policies/caching", "relserve/policies/scheduling",
    "kernels/relserve_kernels",
)  # fmt: skip
HEADLINE = {
    "at_once": Higher(), "latency_ratio": Higher(0.3, by_cpu=True), "leaked": Exact(0),
    "most_possible": Untold("with plenty of memory"),
}  # fmt: skip

STOCK, KV, HYBRID, ROOMY = "stock FCFS", "ours", "ours, hybrid cache", "ours, plenty of memory"
WAYS = {STOCK: HybridWay(), KV: HybridWay({}), HYBRID: HybridWay({"cache": "hybrid"}), ROOMY: HybridWay({})}
SAME_BYTES = {"keys and values": HybridWay(), "hidden": HybridWay({"cache": "hidden", "variant": "stock"})}
COUNT, TOKENS, OUTPUT = 16, 256, 32  # requests that come at once, tokens of each, those that it says
SMALL_POOL = 40  # blocks: five requests of keys and values
CAP = 256
SHARE = 0.4  # of the load that the pool holds
PLENTY = 4000  # blocks
LIMITS = {"max_num_seqs": 256, "max_tokens": 256, "max_model_len": 1536}
LEAST = LIMITS["max_model_len"] // BLOCK_SIZE
COLUMNS = ("way", "mean s", "p99 s", "stock/this", "at once", "preempted")


class HybridTrace(NamedTuple):
    """A trace that was served.

    Attributes:
        latency_s: of each relQuery.
        leaked: blocks in use when all was done.
    """

    latency_s: list[float]
    at_once: int
    most_blocks: int
    preempted: int
    leaked: int


def serve(lane: Lane, way: str, trace: Sequence[RelSpec]) -> HybridTrace:
    """Serve a trace of relQueries on a lane."""
    latency_s, run = lane.relqueries(way, trace)
    told = (run[name] for name in ("at_once", "most_blocks", "preemptions", "leaked_blocks"))
    return HybridTrace(latency_s, *told)


def same_bytes() -> tuple[dict[str, int], int]:
    """How many of the requests run at once by what the pool holds; and blocks leaked."""
    limits = LIMITS | {"max_num_seqs": COUNT, "max_tokens": COUNT * TOKENS, "max_model_len": 2 * TOKENS}
    starts = {
        name: Start(way.variant, way.settings or {}, engine_of(way, SMALL_POOL + 1, **limits))
        for name, way in SAME_BYTES.items()
    }
    lane = Lane(starts)
    trace = requests([TimedRequest(0.0, TOKENS - OUTPUT, OUTPUT)] * COUNT, 1)
    found = {name: serve(lane, name, trace) for name in SAME_BYTES}
    lane.quit()
    return {name: each.at_once for name, each in found.items()}, sum(each.leaked for each in found.values())


class HybridTraces:
    """The relQueries of each seed, and those with which templates are learnt."""

    def __init__(self, count: int, max_rows: int, warm_rows: int) -> None:
        encode = encoder()
        self._draw = lambda seed: relqueries(count, max_rows, 1.0, seed, encode)
        self.warm = declared(one_of_each_kind(warm_rows, 999, encode), CAP)

    def of(self, seed: int) -> list[RelSpec]:
        """A seed's, at one a second."""
        return declared(self._draw(seed), CAP)


def start_of(way: HybridWay, num_blocks: int) -> Start:
    """What a way's engine is started with."""
    return Start(way.variant, way.settings or {}, engine_of(way, num_blocks + 1, **LIMITS))


def lane_of(ways: dict[str, HybridWay], num_blocks: int, warm: Sequence[RelSpec]) -> Lane:
    """A lane of some ways that have seen each template."""
    blocks = {name: PLENTY if name == ROOMY else num_blocks for name in ways}
    lane = Lane({name: start_of(way, blocks[name]) for name, way in ways.items()})
    for name in ways:
        lane.relqueries(name, warm)
    return lane


def load_blocks(traces: HybridTraces, load: float) -> int:
    """The blocks that our scheduler uses with plenty of memory, at a multiple of that engine's capacity."""
    lane = lane_of({KV: WAYS[KV]}, PLENTY, traces.warm)
    trace = traces.of(0)
    whole = serve(lane, KV, at_once(trace))
    found = serve(lane, KV, stretched(trace, max(whole.latency_s) / len(trace) / load))
    lane.quit()
    return found.most_blocks


def one_seed(traces: HybridTraces, load: float, lane: Lane, seed: int) -> dict[str, HybridTrace]:
    """Every way's run of a seed's trace, in an order that changes with the seed."""
    trace = traces.of(seed)
    whole = serve(lane, STOCK, at_once(trace))
    arriving = stretched(trace, max(whole.latency_s) / len(trace) / load)
    names = list(WAYS)
    turns = names[seed % len(names) :] + names[: seed % len(names)]
    found = {name: serve(lane, name, arriving) for name in turns}
    means = {name: round(float(np.mean(found[name].latency_s)), 3) for name in names}
    print(f"seed {seed}: mean latencies in s {means}", flush=True)
    return found


def ratios(seeds: Sequence[dict[str, HybridTrace]], over: str, under: str) -> list[float]:
    """The ratio of two ways' mean latencies, of each seed."""
    return [float(np.mean(each[over].latency_s) / np.mean(each[under].latency_s)) for each in seeds]


def rows(seeds: Sequence[dict[str, HybridTrace]]) -> list[list[Any]]:
    """The table: a line a way, over all seeds."""
    found = []
    for name in WAYS:
        latency_s = np.concatenate([each[name].latency_s for each in seeds])
        gain = float(np.mean(ratios(seeds, STOCK, name)))
        together = max(each[name].at_once for each in seeds), sum(each[name].preempted for each in seeds)
        found.append([name, latency_s.mean(), np.percentile(latency_s, 99), gain, *together])
    return found


def options() -> argparse.Namespace:
    """The command line; a quick run has smaller numbers."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--relqueries", type=int, default=60)
    parser.add_argument("--max-rows", type=int, default=16)
    parser.add_argument("--load", type=float, default=1.0, help="multiple of stock FCFS's capacity")
    parser.add_argument("--lanes", type=int, default=2, help="engines that run at a time, one thread each")
    args = parser.parse_args()
    args.warm_rows = 8
    if args.quick:
        args.seeds, args.relqueries, args.max_rows, args.warm_rows, args.lanes = 1, 12, 8, 1, 1
    return args


def main() -> None:
    """Print both tables, save all, and end with one line of JSON."""
    args = options()
    together, leaked = same_bytes()
    print(table(["the pool holds", "at once"], list(together.items())), flush=True)
    traces = HybridTraces(args.relqueries, args.max_rows, args.warm_rows)
    load = load_blocks(traces, args.load)
    num_blocks = max(LEAST, round(SHARE * load))
    print(f"the load is {load} blocks, the pool has {num_blocks}", flush=True)
    lanes = side_by_side(range(args.lanes), lambda _: lane_of(WAYS, num_blocks, traces.warm), args.lanes)
    seeds = on_lanes(lanes, range(1, args.seeds + 1), partial(one_seed, traces, args.load))
    for lane in lanes:
        lane.quit()
    print(table(COLUMNS, rows(seeds)))
    gains = ratios(seeds, KV, HYBRID)
    most = ratios(seeds, KV, ROOMY)
    print(f"ours over ours with the hybrid cache, each seed: {[round(gain, 2) for gain in gains]}")
    print(f"ours over ours with plenty of memory: {[round(gain, 2) for gain in most]}")
    kv, hidden = together.values()
    headline = {
        "at_once": round(hidden / kv, 3), "latency_ratio": round(float(np.mean(gains)), 3),
        "most_possible": round(float(np.mean(most)), 3),
        "leaked": leaked + sum(each.leaked for seed in seeds for each in seed.values()),
    }  # fmt: skip
    details = {
        "at_once": together, "load_blocks": load, "pool_blocks": num_blocks, "latency_ratios": gains,
        "probes_s": [lane.probes_s for lane in lanes],
        "seeds": [{name: each._asdict() for name, each in seed.items()} for seed in seeds],
    }  # fmt: skip
    finish("hybrid_cache", headline, details, args.quick, partial(plot, seeds))


def plot(seeds: Sequence[dict[str, HybridTrace]], path: Path) -> None:
    """Mean latency of each way."""
    means = {str(name): float(mean) for name, mean, *_ in rows(seeds)}
    bars(path, means, "mean relQuery latency, s")


if __name__ == "__main__":
    main()
