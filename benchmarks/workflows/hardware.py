"""The paper's engines: Llama-3.1-70B on eight GPUs each, step times by a roofline of published figures.

The paper gives no step times. A prompt's token is 140 GFLOP; on eight A100 (312 TFLOP/s each) it is taken to
cost 160 us, 35 % of the peak, with which round robin's deadlines are those of the paper's Figure 2. How much
slower the other cards are is the number that all hangs on. `RATIO`: an A6000 has half of the peak (2.02), and
its reductions, 4.6 MB a token and GPU, go over PCIe 4.0 at 25 GB/s, half of it not hidden: 2.58. An L40 is
taken for as slow. The benchmark sweeps it. A decode step reads 17.6 GB of weights a GPU at 80 % of its
bandwidth, and reduces 160 times over its link.
"""

from __future__ import annotations

from typing import NamedTuple

from lab.simulator.workflows.engine import WorkflowEngineSpec
from relserve.policies.model.linear import CostModel
from relserve.policies.scheduling.state import EngineLimits

RATIO = 2.58  # seconds of a prompt's token on a slow card over those on an A100
A100_TOKEN_S = 160e-6
WEIGHTS_GB, KV_GB_PER_TOKEN, CONTEXT = 17.6, 41e-6, 8000.0  # a GPU; tokens that a decode attends to
BLOCK = 64
EXPOSED = 0.0
BUDGET = 2048  # of a step, vLLM's default
RATIOS = (1.0, 1.66, 2.0, 2.58, 3.0, 3.5)


class Card(NamedTuple):
    """A GPU: memory bandwidth in GB/s, what 160 reductions cost a step, KV tokens that eight of them hold."""

    bandwidth: float
    reduce_s: float
    kv_tokens: int


CARDS = {
    "A100": Card(2039, 3e-3, 1_300_000),
    "L40": Card(864, 8e-3, 600_000),
    "A6000": Card(768, 8e-3, 600_000),
}
SETUPS = {"Hetero-1": ("A100", "A100", "A6000", "A6000"), "Hetero-2": ("A100", "A100", "A6000", "L40")}


def cost(card: str, ratio: float = RATIO, exposed: float = EXPOSED) -> CostModel:
    """What the steps of eight such GPUs cost.

    Args:
        exposed: share of the weights' reading that computing prompts does not hide; 0 is the roofline.
    """
    gpu = CARDS[card]
    read_s = WEIGHTS_GB / (0.8 * gpu.bandwidth)
    token_s = A100_TOKEN_S * (1.0 if card == "A100" else ratio)
    row_s = KV_GB_PER_TOKEN * CONTEXT / (0.8 * gpu.bandwidth)
    mixed_s = gpu.reduce_s + exposed * read_s
    return CostModel(token_s, mixed_s, row_s, gpu.reduce_s + read_s, mixed_s)


def engines(
    setup: str, ratio: float, budget: int, prefix_caching: bool, exposed: float = EXPOSED
) -> list[WorkflowEngineSpec]:
    """The four engines of a setup."""
    return [
        WorkflowEngineSpec(
            f"I{number}", card, cost(card, ratio, exposed),
            EngineLimits(256, budget, CARDS[card].kv_tokens, BLOCK), prefix_caching,
        )
        for number, card in enumerate(SETUPS[setup], start=1)
    ]  # fmt: skip
