"""Effective throughput on a real engine short of memory: requests in time, by rate, for seven ways to serve.

Single requests of HumanEval's lengths, halved, come one by one (Poisson) at a made-up OPT-style model. A
request is in time if its first token and the gaps between the others are, within three times what they take
on an idle engine: by the 99th percentile of its gaps, as Apt-Serve counts, or by every gap. The pool holds
40 % of the blocks that stock vLLM with plenty of memory uses at its own 90 % rate. Rates are multiples of
the one at which stock FCFS with that pool serves 90 % in time.

All ways have the same bytes, weights, requests and arrivals, and each its best token budget a step: of the
largest at which prefills do not break the limit by themselves, and of 0.7 and a half of it, the one with
which it serves the most of other requests in time. Prompts differ from their first token on, and nobody is
told lengths. Engines run on one thread, and their clock is the processor time that they take: idle time is
skipped, and other programs do not count. See `hybrid.lanes` for the machine's speed.

The model is in bfloat16 where the CPU multiplies it, else in float32 (see `hybrid.ways`): then a token costs
so much that the processor bounds the load nearly as soon as the pool does, no cache can help as much, and
vLLM has no fp8 cache to compare with. Models whose heads share keys are left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.claims import Higher, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.effective.attainment import Attainment, RequestLimits, attainment
from benchmarks.effective.lengths import RequestLengths, lengths_of
from benchmarks.effective.rates import Curve
from benchmarks.effective.workload import workload
from benchmarks.hybrid.figures import Crossing, crossing, draw, pooled
from benchmarks.hybrid.lanes import Lane, Start, on_lanes, side_by_side
from benchmarks.hybrid.requests import CAP, latency_ms, requests, scaled
from benchmarks.hybrid.ways import OURS, STOCK, WAYS, engine_of, numbers, ways_here
from lab.simulator.workload import RelSpec

ROOMS = ("relserve/policies", "relserve/vllm_plugin", "kernels/relserve_kernels")
HEADLINE = {
    "at_90": Untold("40 requests"), "at_90_strict": Untold("40 requests"),
    "finished_over_stock": Higher(0.3, by_cpu=True),
}  # fmt: skip

LEVEL, TIMES_IDLE = 0.9, 3.0
SCALE = 0.5  # of HumanEval's lengths: 87 prompt and 35 output tokens on average
SHARE = 0.4  # of the load that the pool holds
MULTIPLES = (0.7, 0.84, 1.0, 1.2, 1.44, 1.73, 2.07)
PLENTY, LEAST = 400, 18  # blocks; the least hold the longest request, and the probe
IDLE_RATE = 0.5
MAX_MODEL_LEN, MAX_NUM_SEQS = 544, 64
BUDGETS = range(16, 257, 16)  # tokens of a step
PARTS = (0.5, 0.7, 1.0)  # of the tokens of a step with which ways are tried
COLUMNS = ("way", "x", "P99 TBT", "every gap", "finished/s", "p99 s", "worst TTFT s", "at once", "preempted")


class RateAttainment(NamedTuple):
    """A way at a rate: the seeds together, the most requests at once, preemptions, and blocks leaked."""

    attained: Attainment
    at_once: int
    preempted: int
    leaked: int


class ThroughputRegime(NamedTuple):
    """What the engines are given.

    Attributes:
        rate: at which stock vLLM with plenty of memory serves 90 % in time.
        load_blocks: the most that it uses then.
        idle_ms: means of an idle engine.
        max_tokens: of a step.
    """

    slo: RequestLimits
    rate: float
    load_blocks: int
    idle_ms: dict[str, float]
    max_tokens: int
    probe_s: float

    @property
    def num_blocks(self) -> int:
        """Of the pool."""
        return max(LEAST, round(SHARE * self.load_blocks))


class RequestTraces:
    """The traces of a benchmark: the same requests at every rate."""

    def __init__(self, lengths: Sequence[RequestLengths], count: int) -> None:
        self._lengths, self.count = lengths, count

    @property
    def mean_prompt(self) -> float:
        """Tokens of a prompt."""
        return sum(each.num_prompt for each in self._lengths) / len(self._lengths)

    def at(self, rate: float, seed: int) -> list[RelSpec]:
        """The requests of a seed at a rate."""
        return requests(workload(self._lengths, rate, 1.0, self.count, seed), seed)


def regime_of(arrivals: RequestTraces, idle: RequestTraces) -> ThroughputRegime:
    """Serve with plenty of memory: idly, and at rates around that which serves 90 % in time."""
    lane = roomy(BUDGETS[-1])
    max_tokens = budget_of(latency_ms(lane.serve(STOCK, idle.at(IDLE_RATE, 0))[0]), idle.mean_prompt)
    lane.quit()
    lane = roomy(max_tokens)
    idle_ms = latency_ms(lane.serve(STOCK, idle.at(IDLE_RATE, 0))[0])
    slo = RequestLimits(TIMES_IDLE * idle_ms["ttft"] / 1e3, TIMES_IDLE * idle_ms["tbt"] / 1e3)
    blocks: dict[float, int] = {}

    def attained_at(rate: float) -> float:
        found, run = lane.serve(STOCK, arrivals.at(rate, 0))
        blocks[rate] = run["most_blocks"]
        return attainment(found, slo).attained

    start = 200.0 / idle_ms["end"] * 20
    rate = Curve(attained_at, start, start / 20, start * 20).rate_at(LEVEL, 1.2)
    lane.quit()
    nearest = min(blocks, key=lambda measured: abs(measured - rate))
    return ThroughputRegime(slo, rate, blocks[nearest], idle_ms, max_tokens, lane.reference_s)


def roomy(max_tokens: int) -> Lane:
    """Stock vLLM with plenty of memory."""
    return Lane({STOCK: Start("vllm", {}, engine_of(WAYS[STOCK], PLENTY, **limits(max_tokens)))})


def limits(max_tokens: int) -> dict[str, int]:
    """What all engines are started with; vLLM takes no more requests than tokens in a step."""
    seqs = min(MAX_NUM_SEQS, max_tokens)
    return {"max_num_seqs": seqs, "max_tokens": max_tokens, "max_model_len": MAX_MODEL_LEN}


def budget_of(idle_ms: Mapping[str, float], mean_prompt: float) -> int:
    """The most tokens of a step, of `BUDGETS`, that are computed within the limit between two tokens.

    A first token that took one step tells what a token of a prompt costs beside the step itself.

    Args:
        idle_ms: means of an idle engine whose steps hold whole prompts.
        mean_prompt: tokens of its prompts.
    """
    token_ms = (idle_ms["ttft"] - idle_ms["tbt"]) / mean_prompt
    most = (TIMES_IDLE - 1) * idle_ms["tbt"] / max(token_ms, 1e-9)
    return max((budget for budget in BUDGETS if budget <= most), default=BUDGETS[0])


class Comparison:
    """Every way on a pool of one size, measured where it is asked for."""

    def __init__(self, lanes: Sequence[Lane], traces: RequestTraces, slo: RequestLimits, seeds: int) -> None:
        self._lanes, self._arrivals, self._slo, self._seeds = lanes, traces, slo, seeds
        self.found: dict[str, dict[float, RateAttainment]] = {}

    def measure(self, ways: Sequence[str], rate: float) -> None:
        """Serve all seeds at a rate in all of some ways, which take turns; say what came of it."""
        jobs = [(seed, way) for seed in range(1, self._seeds + 1) for way in ways]
        results = on_lanes(self._lanes, jobs, partial(self._serve, rate))
        for way in ways:
            of_way = [each for (_, name), each in zip(jobs, results, strict=True) if name == way]
            self.found.setdefault(way, {})[rate] = RateAttainment(
                pooled([each.attained for each in of_way]), max(each.at_once for each in of_way),
                sum(each.preempted for each in of_way), sum(each.leaked for each in of_way),
            )  # fmt: skip
            print(f"{rate:.3g}/s, {way}: {self.found[way][rate]}", flush=True)

    def _serve(self, rate: float, lane: Lane, job: tuple[int, str]) -> RateAttainment:
        seed, way = job
        found, run = lane.serve(way, self._arrivals.at(rate, seed), self._slo)
        judged = attainment(found, self._slo)
        return RateAttainment(judged, run["at_once"], run["preemptions"], run["leaked_blocks"])

    def stock_at(self, rate: float) -> float:
        """What stock FCFS attains at a rate."""
        self.measure([STOCK], rate)
        return self.found[STOCK][rate].attained.attained

    def below(self, ways: Sequence[str], rate: float, strict: bool) -> list[str]:
        """The ways that attain less than the level at a rate, by P99 or by every gap."""
        at_rate = {way: self.found[way][rate].attained for way in ways if rate in self.found[way]}
        return [way for way, a in at_rate.items() if (a.strict if strict else a.attained) < LEVEL]


def compare(comparison: Comparison, ways: Sequence[str], unit: float) -> None:
    """Measure all ways at multiples of a rate, each as far up and down as its 90 % are not yet bracketed.

    Stock goes up as far as any way does: they are compared at the same rates.
    """
    comparison.measure(ways, unit)
    at = MULTIPLES.index(1.0)
    left: Sequence[str] = [way for way in ways if way != STOCK]
    for before, multiple in zip(MULTIPLES[at:], MULTIPLES[at + 1 :], strict=False):
        fallen = comparison.below(left, before * unit, strict=False)
        left = [way for way in left if way not in fallen]
        if not left:
            break
        comparison.measure([STOCK, *left], multiple * unit)
    left = ways
    for before, multiple in zip(MULTIPLES[at::-1], MULTIPLES[at - 1 :: -1], strict=False):
        left = comparison.below(left, before * unit, strict=True)
        if not left:
            break
        comparison.measure(left, multiple * unit)


def rates_at_level(found: Mapping[float, RateAttainment]) -> dict[str, Crossing]:
    """The rates at which a way attains 90 %, by P99 and by every gap."""
    by_p99 = crossing({rate: each.attained.attained for rate, each in found.items()}, LEVEL)
    strict = crossing({rate: each.attained.strict for rate, each in found.items()}, LEVEL)
    return {"at_90": by_p99, "at_90_strict": strict}


def headline(found: Mapping[str, Mapping[float, RateAttainment]], of: str = OURS) -> dict[str, Any]:
    """What one way's rates are of stock's, and the least ratio of finished requests at any common rate.

    None where the way reaches the level at no rate that was measured.
    """
    ours, stock = rates_at_level(found[of]), rates_at_level(found[STOCK])
    finished = [
        found[of][rate].attained.finished_per_s / found[STOCK][rate].attained.finished_per_s
        for rate in found[of] if rate in found[STOCK]
    ]  # fmt: skip
    return {
        **{name: rate.over(stock[name]) for name, rate in ours.items()},
        "finished_over_stock": round(min(finished), 3),
    }


def rows(found: Mapping[str, Mapping[float, RateAttainment]], unit: float) -> list[list[Any]]:
    """The table: ways by rate."""
    flat = sorted((rate, name, each) for name, by_rate in found.items() for rate, each in by_rate.items())
    return [
        [name, rate / unit, a.attained, a.strict, a.finished_per_s, a.p99_s, a.worst_ttft_s, *each[1:3]]
        for rate, name, each in flat for a in [each.attained]
    ]  # fmt: skip


def start_of(way: str, regime: ThroughputRegime, max_tokens: int) -> Start:
    """What a way's engine is started with."""
    engine = engine_of(WAYS[way], regime.num_blocks + 1, **limits(max_tokens))
    return Start(WAYS[way].variant, WAYS[way].settings or {}, engine)


def best_budget(way: str, regime: ThroughputRegime, trace: Sequence[RelSpec]) -> int:
    """The tokens of a step with which a way serves the most requests in time, of the regime's and fewer.

    Ways differ in what else a step takes, so that the most tokens that stock's limit between two tokens
    allows are not the best for all of them.
    """
    budgets = sorted({max(BUDGETS[0], round(regime.max_tokens * part)) for part in PARTS})
    lane = Lane(
        {STOCK: start_of(STOCK, regime, regime.max_tokens)}
        | {f"{tokens}": start_of(way, regime, tokens) for tokens in budgets},
        regime.probe_s,
    )
    found = {
        tokens: attainment(lane.serve(f"{tokens}", trace, regime.slo)[0], regime.slo).attained
        for tokens in budgets
    }
    lane.quit()
    print(f"{way}: in time by tokens of a step {found}", flush=True)
    return max(found, key=lambda tokens: (found[tokens], tokens))


def options() -> argparse.Namespace:
    """The command line; a quick run has smaller numbers."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=1000, help="of a seed, at each rate")
    parser.add_argument("--lanes", type=int, default=2, help="engines that run at a time, one thread each")
    parser.add_argument("--ways", nargs="+", choices=list(ways_here()), help=f"beside {STOCK} and {OURS}")
    parser.add_argument("--pilot", type=int, default=150, help="requests by which a way's budget is chosen")
    args = parser.parse_args()
    if args.quick:
        args.seeds, args.requests, args.lanes = 1, 40, 1
    wanted = args.ways or ([] if args.quick else list(WAYS))
    args.ways = [name for name in ways_here() if name in {STOCK, OURS, *wanted}]
    return args


def main() -> None:
    """Print a table, save all, and end with one line of JSON."""
    args = options()
    lengths = scaled(lengths_of("code"), SCALE)
    if max(each.num_prompt for each in lengths) + CAP > MAX_MODEL_LEN:
        raise ValueError("max_model_len does not hold the longest prompt with the cap of an output")
    arrivals = RequestTraces(lengths, args.requests)
    regime = regime_of(RequestTraces(lengths, 60 if args.quick else 400), RequestTraces(lengths, 30))
    pool = f"the pool has {regime.num_blocks} blocks for a load of {regime.load_blocks}"
    print(f"{numbers()}\n{regime}\n{pool}", flush=True)
    pilot = RequestTraces(lengths, args.pilot).at(regime.rate / 2, 0)
    budgets = {way: regime.max_tokens if args.quick else best_budget(way, regime, pilot) for way in args.ways}
    started = {way: start_of(way, regime, tokens) for way, tokens in budgets.items()}
    lanes = side_by_side(range(args.lanes), lambda _: Lane(started, regime.probe_s), args.lanes)
    comparison = Comparison(lanes, arrivals, regime.slo, args.seeds)
    unit = Curve(comparison.stock_at, regime.rate / 2, regime.rate / 20, regime.rate).rate_at(LEVEL, 1.2)
    if unit >= regime.rate:
        print("stock FCFS serves as many with this pool as with plenty of memory", flush=True)
    compare(comparison, args.ways, unit)
    for lane in lanes:
        lane.quit()
    show(comparison.found, unit)
    details = {
        "numbers": numbers()._asdict(), "regime": regime._asdict(), "pool_blocks": regime.num_blocks,
        "budgets": budgets, "unit_rate": unit, "is_unit_exact": unit < regime.rate,
        "found": told(comparison.found), "rates": {way: headline(comparison.found, way) for way in args.ways},
        "probes_s": [lane.probes_s for lane in lanes],
    }  # fmt: skip
    finish(
        "effective_throughput", headline(comparison.found), details, args.quick,
        partial(plot, comparison.found, unit),
    )  # fmt: skip


def told(found: Mapping[str, Mapping[float, RateAttainment]]) -> dict[str, list[dict[str, Any]]]:
    """All figures as JSON can hold them."""
    return {
        way: [
            {"rate": rate, **each.attained._asdict(), "at_once": each.at_once, "preempted": each.preempted,
             "leaked": each.leaked}
            for rate, each in sorted(by_rate.items())
        ]
        for way, by_rate in found.items()
    }  # fmt: skip


def plot(found: Mapping[str, Mapping[float, RateAttainment]], unit: float, path: Path) -> None:
    """Attainment by rate, a line a way."""
    attained = {
        way: {rate / unit: each.attained for rate, each in by_rate.items()} for way, by_rate in found.items()
    }
    draw(path, attained, LEVEL)


def show(found: Mapping[str, Mapping[float, RateAttainment]], unit: float) -> None:
    """Print all figures, and each way's rates as multiples of stock's."""
    print(table(COLUMNS, rows(found, unit)))
    for way, by_rate in found.items():
        print(f"{way}: {headline(found, way)}", {k: str(v) for k, v in rates_at_level(by_rate).items()})
    print("leaked blocks:", sum(each.leaked for by_rate in found.values() for each in by_rate.values()))


if __name__ == "__main__":
    main()
