"""The five scenarios of NexusSched (Table 2): lengths, arrivals, limits.

Table 2 gives mean, P99 and standard deviation. Lengths are lognormal with the mean and the deviation, but
FlowGPT's prompts, whose P99 only a bounded distribution has: Beta with all three. The P99 of its outputs is
below their mean, which cannot be, and is left out. The paper names two limits, FlowGPT's 12 ms a token
and Summarization's 2 s to the first one; the others are ours. FlowGPT-T replays bursts of a trace that is not
public, here Gamma arrivals with a coefficient of variation of 2; FlowGPT-Q comes at a uniform rate, as in the
paper; the others are Poisson.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lab.simulator.requests.sim_request import RequestSpec

SECONDS, LEAST = 12.0, 80  # how long requests come, and how many at least


class TableLengths(NamedTuple):
    """A row of Table 2, prompts or outputs, in tokens; `bound` where the distribution has one."""

    mean: float
    deviation: float
    p99: float
    bound: float = math.inf


@dataclass(frozen=True)
class Scenario:
    """A scenario.

    Attributes:
        variation: of the gaps between arrivals; 0: uniform, 1: Poisson.
        rates: requests a second: where the engine keeps up, at its knee, and beyond it.
    """

    prompts: TableLengths
    outputs: TableLengths
    variation: float
    ttft_slo_s: float
    tpot_slo_s: float
    rates: tuple[float, ...]


_CHAT = TableLengths(4089, 2061, 7014, 7100), TableLengths(177, 200, math.inf)
SCENARIOS = {
    "FlowGPT-T": Scenario(*_CHAT, 2.0, 1.0, 0.012, (1.0, 2.0, 3.0)),
    "FlowGPT-Q": Scenario(*_CHAT, 0.0, 1.0, 0.012, (3.0, 4.0, 5.0)),
    "Coding": Scenario(
        TableLengths(440, 214, 1131), TableLengths(283, 233, 1096), 1.0, 0.5, 0.015, (12.0, 18.0, 22.0)
    ),
    "ShareGPT": Scenario(
        TableLengths(370, 351, 1420), TableLengths(249, 170, 760), 1.0, 0.5, 0.015, (18.0, 26.0, 31.0)
    ),
    "Summarization": Scenario(
        TableLengths(8936, 694, 10171), TableLengths(259, 115, 587), 1.0, 2.0, 0.025, (1.0, 1.75, 2.5)
    ),
}  # fmt: skip


def drawn(lengths: TableLengths, count: int, random: np.random.Generator) -> np.ndarray:
    """Lengths, whole numbers from 2 on."""
    if math.isfinite(lengths.bound):
        share, spread = lengths.mean / lengths.bound, (lengths.deviation / lengths.bound) ** 2
        total = share * (1.0 - share) / spread - 1.0
        values = random.beta(share * total, (1.0 - share) * total, count) * lengths.bound
    else:
        sigma = math.sqrt(math.log(1.0 + (lengths.deviation / lengths.mean) ** 2))
        values = random.lognormal(math.log(lengths.mean) - sigma**2 / 2, sigma, count)
    return np.maximum(np.round(values), 2).astype(int)


def requests(name: str, rate: float, seed: int, seconds: float = SECONDS) -> list[RequestSpec]:
    """The requests of a run; a seed draws the same ones at every rate, but for how many there are."""
    scenario = SCENARIOS[name]
    count = max(LEAST, round(rate * seconds))
    streams = [np.random.default_rng([zlib.crc32(f"{name} {what}".encode()), seed]) for what in "pog"]
    prompts, outputs = drawn(scenario.prompts, count, streams[0]), drawn(scenario.outputs, count, streams[1])
    if scenario.variation:
        shape = 1.0 / scenario.variation**2
        gaps = streams[2].gamma(shape, 1.0 / shape, count)
    else:
        gaps = np.ones(count)
    arrivals = np.cumsum(gaps) / rate
    return [
        RequestSpec(float(at_s), int(prompt), int(output), scenario.ttft_slo_s, scenario.tpot_slo_s)
        for at_s, prompt, output in zip(arrivals, prompts, outputs, strict=True)
    ]
