"""Three kinds of engines with Llama3-8B by published figures; nothing is measured.

H100 is `benchmarks.slo`'s. A100: 312 TFLOP/s in bf16, 2.04 TB/s. A6000: two with tensor parallelism, as the
paper runs them, each 155 TFLOP/s and 0.77 TB/s, 2 ms more a step for what they tell each other. Prompts reach
60 % of the former, reading 80 % of the latter, as there.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from functools import cache, partial

from benchmarks.slo.systems import KV_BYTES, KV_TOKENS, LARGE, LAYERS, PARAMETERS, V1, WIDTH
from benchmarks.slo.workloads import SCENARIOS, requests
from lab.simulator.budget.engine import NoisyTimes
from lab.simulator.budget.run import BudgetedEngineSpec, serve
from lab.simulator.fleet.member import SimulatedMemberSpec
from lab.simulator.roofline import Roofline
from relserve.policies.budget.policy import BudgetPolicy
from relserve.policies.budget.variants import make

FIGURES = {  # FLOP/s and bytes/s that are reached, seconds a step beside them, tokens that memory holds
    "H100": (0.6 * 989e12, 0.8 * 3.35e12, 3e-3, KV_TOKENS),
    "A100": (0.6 * 312e12, 0.8 * 2.04e12, 3e-3, KV_TOKENS),
    "A6000": (0.6 * 310e12, 0.8 * 1.54e12, 5e-3, 520_000),
}


def roofline(kind: str) -> Roofline:
    """Step times of that kind."""
    flops, bandwidth, base_s, _ = FIGURES[kind]
    return Roofline(
        base_s=base_s, weights_s=2 * PARAMETERS / bandwidth, token_s=2 * PARAMETERS / flops,
        pair_s=4 * LAYERS * WIDTH / flops, request_s=2e-5, kv_token_s=KV_BYTES / bandwidth,
        hidden_token_s=0.0,
    )  # fmt: skip


def engine(kind: str, policy: str) -> BudgetedEngineSpec:
    """An engine of that kind; `v0` computes prompts alone and whole."""
    blocks = FIGURES[kind][3] // 16
    return BudgetedEngineSpec(
        NoisyTimes(roofline(kind)), blocks, 256, LARGE if policy == "v0" else V1, policy == "v0"
    )


def budget_policy(kind: str, policy: str, scenario: str, slower: float) -> BudgetPolicy:
    """A budget policy that has served this scenario on this kind before, so that it begins with a model."""
    return deepcopy(_learnt(kind, policy, scenario, slower))


@cache
def _learnt(kind: str, policy: str, scenario: str, slower: float) -> BudgetPolicy:
    found = make(f"static-{LARGE}" if policy == "v0" else policy)
    if found.model is not None:
        its = SCENARIOS[scenario]
        rate = its.rates[0] * 0.6 * FIGURES[kind][0] / FIGURES["H100"][0]
        specs = [
            spec._replace(ttft_slo_s=slower * spec.ttft_slo_s, tpot_slo_s=slower * spec.tpot_slo_s)
            for spec in requests(scenario, rate, 1000, 80 / rate)
        ]
        serve(specs, engine(kind, policy), found, 1000)
    return found


@cache
def throughput(kind: str, scenario: str) -> float:
    """Requests a second of one engine that has all it can do: what an operator measures for weights."""
    specs = [spec._replace(arrival_s=0.0) for spec in requests(scenario, 1.0, 2000, 1.0)]
    outcome = serve(specs, engine(kind, "static"), make("static-1024"), 2000)
    return len(specs) / float(outcome.e2e_s.max())


def members(
    kinds: Sequence[str], policy: str, scenario: str, slower: float = 1.0
) -> list[SimulatedMemberSpec]:
    """A fleet of these kinds, all under one budget policy."""
    return [
        SimulatedMemberSpec(
            f"{kind}-{i}", engine(kind, policy), partial(budget_policy, kind, policy, scenario, slower),
            throughput(kind, scenario),
        )
        for i, kind in enumerate(kinds)
    ]  # fmt: skip
