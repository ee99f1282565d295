"""What steps cost by what rows keep: a guess from the model's shape, then what the steps show."""

from __future__ import annotations

from relserve.machine.token_costs import find_token_costs
from relserve.policies.model.cache_costs import CacheCosts
from relserve.policies.model.linear import CostModel
from relserve.vllm_plugin import host
from relserve.vllm_plugin.cache import scheduling_host
from relserve.vllm_plugin.cache.scheduling_host import ModelShape
from relserve.vllm_plugin.cache.scheduling_types import RowTypes
from relserve.vllm_plugin.host import Host
from relserve.vllm_plugin.settings import SchedulerSettings


def guessed_costs(steps: CostModel, shape: ModelShape, absorbs: bool) -> CacheCosts:
    """Before anything was measured: what a hidden token costs more for what is made of it anew each step.

    That is the share of a prompt token's work that projects X to what is not absorbed: keys where they are
    rotated; keys and values where nothing is absorbed. The paper's rho is the same projections' time.
    """
    anew = (1 if shape.is_rotary else 0) if absorbs else 2
    projection_s = _projection_s(steps, shape)
    return CacheCosts(steps, 0.0, anew * projection_s, 2 * projection_s)


def _projection_s(steps: CostModel, shape: ModelShape) -> float:
    """Of a token to keys, or to values, in all layers: its share of a prompt token's work."""
    a_layer = 4 * shape.width + shape.num_wide * shape.wide
    return steps.prefill_per_token_s * shape.width / a_layer


def first_costs(scheduler: Host, settings: SchedulerSettings, types: RowTypes) -> CacheCosts:
    """What to begin with: as `relserve calibrate` measured it on this machine, or a guess."""
    steps = settings.first_cost
    if not types.is_free:
        return CacheCosts(steps, 0.0, 0.0)
    guessed = guessed_costs(steps, scheduling_host.model_shape(scheduler), settings.absorbs)
    kept = find_token_costs(host.model_name(scheduler)) if settings.absorbs else None
    if kept is not None:
        return guessed._replace(kv_token_s=kept.kv_s, hidden_token_s=kept.hidden_s)
    return guessed
