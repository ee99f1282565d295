"""The systems, on one H100 with Llama3-8B by published figures; nothing is measured.

989 TFLOP/s in bf16 of which prompts reach 60 %, 3.35 TB/s of which reading reaches 80 %, 3 ms a step beside
that. Steps vary by 4 %, one in a thousand takes 20 ms longer.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import asdict
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np

from benchmarks.slo.workloads import SECONDS, requests
from lab.simulator.budget.engine import NoisyTimes
from lab.simulator.budget.run import BudgetedEngineSpec, BudgetOutcome, serve
from lab.simulator.roofline import Roofline
from relserve.policies.budget.variants import make
from relserve.policies.model.work import Work

FLOPS, BANDWIDTH = 0.6 * 989e12, 0.8 * 3.35e12
PARAMETERS, LAYERS, WIDTH, KV_BYTES = 8.03e9, 32, 4096, 131072
KV_TOKENS = 420_000  # in 80 GB at vLLM's 0.9, beside the weights
H100 = Roofline(
    base_s=3e-3, weights_s=2 * PARAMETERS / BANDWIDTH, token_s=2 * PARAMETERS / FLOPS,
    pair_s=4 * LAYERS * WIDTH / FLOPS, request_s=2e-5, kv_token_s=KV_BYTES / BANDWIDTH, hidden_token_s=0.0,
)  # fmt: skip
TIMES = NoisyTimes(H100)
V1, LARGE = 8192, 16384  # vLLM's own budget for its server on an H100; that of engine V0

STATIC = tuple(f"static-{tokens}" for tokens in (192, 256, 384, 512, 1024))
BASE = f"static-{V1}"
SYSTEMS = ("v0", BASE, *STATIC, "lens", "ours-in-order", "ours")


class Smooth(Roofline):
    """Reading weights and computing tokens hide each other less the more equal they are: a bend, no edge."""

    def _without_contexts(self, work: Work) -> float:
        compute_s = float(np.cbrt(self.weights_s**3 + (work.num_tokens * self.token_s) ** 3))
        pairs_s = (work.pairs - work.cached_pairs) * self.pair_s
        return self.base_s + compute_s + pairs_s + work.num_requests * self.request_s


ENGINES = {"edge": TIMES, "smooth": NoisyTimes(Smooth(**asdict(H100)))}


class SloCell(NamedTuple):
    """A run."""

    scenario: str
    rate: float
    system: str
    seed: int
    engine: str = "edge"
    seconds: float = SECONDS


class SloResult(NamedTuple):
    """What is kept of a run: shares in percent, times in seconds.

    Attributes:
        r2: of the model's predictions before each of the last steps; NaN without one.
        error: median relative error of these.
    """

    attained: float
    ttft: float
    tpot: float
    ttft_p50_s: float
    tpot_p50_s: float
    e2e_p50_s: float
    e2e_p90_s: float
    decision_ms: float
    r2: float
    error: float


def engine_of(system: str, times: NoisyTimes = TIMES) -> BudgetedEngineSpec:
    """Its engine: V0 computes prompts alone and whole."""
    is_v0 = system == "v0"
    return BudgetedEngineSpec(times, KV_TOKENS // 16, 256, LARGE if is_v0 else V1, exclusive=is_v0)


def run_one(cell: SloCell) -> tuple[BudgetOutcome, SloResult]:
    """One run."""
    policy = make(f"static-{LARGE}" if cell.system == "v0" else cell.system)
    specs = requests(cell.scenario, cell.rate, cell.seed, cell.seconds)
    outcome = serve(specs, engine_of(cell.system, ENGINES[cell.engine]), policy, cell.seed)
    model = getattr(policy, "model", None)
    in_ttft = np.mean([t <= s.ttft_slo_s for t, s in zip(outcome.ttft_s, specs, strict=True)])
    in_tpot = np.mean([t <= s.tpot_slo_s for t, s in zip(outcome.tpot_s, specs, strict=True)])
    return outcome, SloResult(
        100 * outcome.attained, 100 * float(in_ttft), 100 * float(in_tpot),
        float(np.median(outcome.ttft_s)), float(np.median(outcome.tpot_s)),
        float(np.median(outcome.e2e_s)), float(np.percentile(outcome.e2e_s, 90)),
        1e3 * outcome.policy_s / max(len(outcome.choices), 1),
        model.r2() if model else float("nan"), model.error() if model else float("nan"),
    )  # fmt: skip


def _measure(cell: SloCell) -> SloResult:
    return run_one(cell)[1]


def run_cells(cells: Iterable[SloCell]) -> dict[SloCell, SloResult]:
    """All cells, on as many processes as there are cores to use."""
    wanted = list(dict.fromkeys(cells))
    with get_context("fork").Pool(len(os.sched_getaffinity(0))) as pool:
        return dict(zip(wanted, pool.map(_measure, wanted, chunksize=1), strict=True))
