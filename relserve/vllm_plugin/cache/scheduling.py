"""Over vLLM's schedulers: what each request holds, prefixes of both kinds, and a change while running."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from relserve.errors import EngineStartError
from relserve.vllm_plugin import host
from relserve.vllm_plugin.cache import scheduling_host
from relserve.vllm_plugin.cache.manager import HybridManager
from relserve.vllm_plugin.cache.scheduling_types import RowTypes
from relserve.vllm_plugin.cache.what_forbids import check_pool
from relserve.vllm_plugin.host import AsyncScheduler, Scheduler
from relserve.vllm_plugin.settings import read

if TYPE_CHECKING:
    _Base = Scheduler
else:
    _Base = object


class HybridScheduling(_Base):
    """Mixin over vLLM's schedulers: requests hold keys and values, or X.

    A request's kind is settled each time that it is admitted: before its prefix is looked up, when it holds
    nothing.

    Attributes:
        kinds: the block manager, which knows what each request holds.
        types: tells as what requests are admitted.

    Raises:
        EngineStartError: the engine's model does not keep X.
    """

    types: RowTypes

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cache = read(self.vllm_config.additional_config).cache
        managers = self.kv_cache_manager.coordinator.single_type_managers
        if len(managers) != 1 or not isinstance(managers[0], HybridManager):
            raise EngineStartError(
                f"this engine was asked for cache={cache!r}, but its model keeps keys and values only; "
                "make its configuration by vLLM's EngineArgs, which relserve's plug-in watches"
            )
        self.kinds: HybridManager = managers[0]
        pool, longest = self.kv_cache_manager.block_pool, self.vllm_config.model_config.max_model_len
        check_pool(pool.num_gpu_blocks - 1, self.kinds.tokens_per_block, longest)
        if not hasattr(self, "types"):  # over vLLM's own scheduler
            self.types = RowTypes(self, cache)

    def switch_cache_type(self, request: Any, hidden: bool) -> None:
        """Drop what a running request holds; when admitted again it is computed anew, as the other kind."""
        self.types.insist(request.request_id, "hidden" if hidden else "kv")
        scheduling_host.preempt(self, request)

    def schedule(self, *args: Any, **kwargs: Any) -> Any:
        output = super().schedule(*args, **kwargs)
        for request_id in output.scheduled_cached_reqs.resumed_req_ids:
            self.types.resumed(self.requests[request_id])
        return output

    def _preempt_request(self, request: Any, *args: Any, **kwargs: Any) -> None:
        self.types.dropped(request)
        super()._preempt_request(request, *args, **kwargs)

    def _get_local_prefix_cache_hit(self, request: Any) -> Any:
        is_hidden = self.types.of_admission(request) == "hidden"
        self.kinds.set_kind(request.request_id, is_hidden)
        if not is_hidden:
            return super()._get_local_prefix_cache_hit(request)
        manager = self.kv_cache_manager
        if not manager.prefix_cache_lookup_enabled(request):
            return manager.empty_kv_cache_blocks, 0, 0, False
        blocks, num_tokens = self.kinds.find_hidden_prefix(request)
        return manager.create_kv_cache_blocks((blocks,)), num_tokens, 0, False

    def _free_blocks(self, request: Any) -> None:
        super()._free_blocks(request)
        self.kinds.forget(request.request_id)
        self.types.forget(request.request_id)


def with_kinds(stock: type) -> type:
    """A scheduler's class, for requests of both kinds."""
    return type(f"Hybrid{stock.__name__}", (HybridScheduling, stock), {"__module__": __name__})


def make(vllm_config: Any, **kwargs: Any) -> Scheduler:
    """The scheduler with the cache and without relQueries' order, as vLLM's `scheduler_cls`."""
    cls: Any = with_kinds(AsyncScheduler if host.plans_ahead(vllm_config) else Scheduler)
    scheduler: Scheduler = cls(vllm_config=vllm_config, **kwargs)
    return scheduler
