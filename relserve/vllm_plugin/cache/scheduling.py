"""Over vLLM's schedulers: what each request holds, its prefixes, and a change of kind while it runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from relserve.errors import EngineStartError
from relserve.vllm_plugin import host
from relserve.vllm_plugin.cache.manager import HybridManager
from relserve.vllm_plugin.host import AsyncScheduler, Scheduler
from relserve.vllm_plugin.settings import read

if TYPE_CHECKING:
    _Base = Scheduler
else:
    _Base = object

CACHE_ARGUMENT = "rel_cache"  # of a request's extra_args: "kv" or "hidden"


class HybridScheduling(_Base):
    """Mixin over vLLM's schedulers: requests hold keys and values, or X.

    Attributes:
        kinds: the block manager, which knows what each request holds.

    Raises:
        EngineStartError: the engine's model does not keep X.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._cache = read(self.vllm_config.additional_config).cache
        managers = self.kv_cache_manager.coordinator.single_type_managers
        if len(managers) != 1 or not isinstance(managers[0], HybridManager):
            raise EngineStartError(
                f"this engine was asked for cache={self._cache!r}, but its model keeps keys and values only; "
                "make its configuration by vLLM's EngineArgs, which relserve's plug-in watches"
            )
        self.kinds: HybridManager = managers[0]
        self._switched: dict[str, bool] = {}

    def wants_hidden(self, request: Any) -> bool:
        """Whether a request that can be admitted shall hold X.

        As a switch has it, else as the request says itself, else as the setting has it for all.
        """
        if request.request_id in self._switched:
            return self._switched[request.request_id]
        params = request.sampling_params
        said = ((params.extra_args or {}) if params is not None else {}).get(CACHE_ARGUMENT)
        return said == "hidden" if said is not None else self._cache == "hidden"

    def switch_cache_type(self, request: Any, hidden: bool) -> None:
        """Drop what a running request holds; when admitted again it is computed anew, as the other kind."""
        self.running.remove(request)
        self._preempt_request(request, time.monotonic(), drop_stale_output=True)
        self.prev_step_scheduled_req_ids.discard(request.request_id)
        self._switched[request.request_id] = hidden

    def _get_local_prefix_cache_hit(self, request: Any) -> Any:
        """A request can be admitted: what it holds from now on, and what it finds of that."""
        hidden = self.wants_hidden(request)
        self.kinds.set_kind(request.request_id, hidden)
        if not hidden:
            return super()._get_local_prefix_cache_hit(request)
        manager = self.kv_cache_manager
        if not manager.prefix_cache_lookup_enabled(request):
            return manager.empty_kv_cache_blocks, 0, 0, False
        blocks, num_tokens = self.kinds.find_hidden_prefix(request)
        return manager.create_kv_cache_blocks((blocks,)), num_tokens, 0, False

    def _free_blocks(self, request: Any) -> None:
        super()._free_blocks(request)
        self.kinds.forget(request.request_id)
        self._switched.pop(request.request_id, None)


def with_kinds(stock: type) -> type:
    """A scheduler's class, for requests of both kinds."""
    return type(f"Hybrid{stock.__name__}", (HybridScheduling, stock), {"__module__": __name__})


def make(vllm_config: Any, **kwargs: Any) -> Scheduler:
    """The scheduler with the cache and without relQueries' order, as vLLM's `scheduler_cls`."""
    cls: Any = with_kinds(AsyncScheduler if host.plans_ahead(vllm_config) else Scheduler)
    scheduler: Scheduler = cls(vllm_config=vllm_config, **kwargs)
    return scheduler
