"""SABER's offline phase (section IV-B): pairs of load and speed, from what is known of an engine's steps.

The paper sends an engine mixed workloads at fixed loads, and measures. Here the engine's cost model, from
`relserve calibrate` or from what its engines have learnt, says what such requests would measure: each gets a
token a step, and the prompts of those that come in place of others ride in the same steps.
"""

from __future__ import annotations

from relserve.policies.admission.scalability import SpeedSample
from relserve.policies.model.linear import CostModel

LOADS = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 100)  # static limits of section III go up to 100
PROMPT_SHARE = 1350 / 1077  # tokens of a prompt for one of its answer, Table I's four tasks alike (W3)


def profile(cost: CostModel, num_engines: int = 1) -> list[SpeedSample]:
    """Step 1: the speed of a request at each load, tokens a second, its own prompt not counted.

    Args:
        cost: of the steps of one engine.
        num_engines: engines alike that share the load evenly.
    """
    return [SpeedSample(num_engines * load, 1.0 / _token_s(cost, load)) for load in LOADS]


def _token_s(cost: CostModel, load: int) -> float:
    return cost.decode(load) + cost.prefill_per_token_s * PROMPT_SHARE * load
