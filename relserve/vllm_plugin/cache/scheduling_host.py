"""What the hybrid cache touches of vLLM's scheduler, beside what `relserve.vllm_plugin.host` has."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from relserve.policies.caching.requests import CacheType
from relserve.vllm_plugin.host import Host, HostRequest, KvCacheManager


def num_blocks(scheduler: Host) -> int:
    """Blocks of memory for rows; vLLM keeps one for itself."""
    pool: Any = scheduler.kv_cache_manager.block_pool
    return int(pool.num_gpu_blocks) - 1


def num_free_blocks(scheduler: Host) -> int:
    """Blocks that no request holds; where layers are of several kinds, for each of them."""
    manager: KvCacheManager = scheduler.kv_cache_manager
    return manager.block_pool.get_num_free_blocks() // manager.num_kv_cache_groups


def blocks_of(scheduler: Host, request_id: str) -> Sequence[Any]:
    """The blocks that a request holds, of one kind of layers."""
    blocks: Sequence[Any] = scheduler.kv_cache_manager.coordinator.single_type_managers[0].req_to_blocks.get(
        request_id, ()
    )
    return blocks


def block_lists(scheduler: Host, request_ids: Iterable[str]) -> Iterator[Sequence[Any]]:
    """The blocks that each of these requests holds, of one kind of layers."""
    held = scheduler.kv_cache_manager.coordinator.single_type_managers[0].req_to_blocks
    return (held.get(request_id, ()) for request_id in request_ids)


def found_prefix(scheduler: Host, request: HostRequest, cache: CacheType) -> tuple[Sequence[Any], int]:
    """The blocks in the prefix cache that a waiting row can begin with as one type, and their tokens."""
    manager: KvCacheManager = scheduler.kv_cache_manager
    if not manager.enable_caching or getattr(request, "skip_reading_prefix_cache", False):
        return (), 0
    if cache == "hidden":
        hybrid = hybrid_manager(scheduler)
        found: tuple[Sequence[Any], int] = ((), 0) if hybrid is None else hybrid.find_hidden_prefix(request)
        return found
    hit = manager.coordinator.find_longest_cache_hit(request.block_hashes, request.num_tokens - 1)
    return hit[0][0], int(hit[1])


class ModelShape(NamedTuple):
    """What a model's layers are made of.

    Attributes:
        width: numbers in a token between layers.
        num_wide, wide: matrices of its feed-forward part, and their other side.
        is_rotary: whether keys are rotated by their places.
    """

    width: int
    num_wide: int
    wide: int
    is_rotary: bool


def model_shape(scheduler: Host) -> ModelShape:
    """The model's shape, of OPT and Llama kinds."""
    config = scheduler.vllm_config.model_config.hf_config
    if config.model_type == "opt":
        return ModelShape(config.hidden_size, 2, config.ffn_dim, is_rotary=False)
    return ModelShape(config.hidden_size, 3, config.intermediate_size, is_rotary=True)


def hybrid_manager(scheduler: Host) -> Any:
    """The manager whose blocks hold keys and values or hidden states; None where there is none."""
    managers = scheduler.kv_cache_manager.coordinator.single_type_managers
    return managers[0] if len(managers) == 1 and hasattr(managers[0], "set_kind") else None


def is_blocked(request: HostRequest) -> bool:
    """Whether a waiting row cannot be admitted yet, for its grammar or a piece of its input is missing."""
    if request.status.name == "WAITING_FOR_STRUCTURED_OUTPUT_GRAMMAR":
        output: Any = request.structured_output_request
        return output is None or output.grammar is None  # one that cannot be compiled is vLLM's to refuse
    return bool(request.status.name.startswith("WAITING_FOR_"))


def preempt(scheduler: Host, request: HostRequest) -> None:
    """Drop what a running row has in memory, and put it back into the waiting queue.

    A token that is still being computed is kept; the row is not admitted before it has come.
    """
    host: Any = scheduler
    scheduler.running.remove(request)
    host._preempt_request(request, time.monotonic())
    host.prev_step_scheduled_req_ids.discard(request.request_id)
