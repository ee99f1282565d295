"""What a caching policy is shown of vLLM's requests: a table that is kept from step to step."""

from __future__ import annotations

import math
import time
from typing import Any

from relserve.policies.caching.requests import CacheType, Requests, RequestState
from relserve.policies.caching.state import CacheCosts, CacheView, Limits, Memory
from relserve.vllm_plugin import host
from relserve.vllm_plugin.cache import scheduling_host
from relserve.vllm_plugin.cache.scheduling_queue import PlannedQueue
from relserve.vllm_plugin.cache.scheduling_types import RowTypes
from relserve.vllm_plugin.host import Host, Request
from relserve.vllm_plugin.ledger import RowLedger
from relserve.vllm_plugin.settings import SchedulerSettings, as_slo

TTFT_ARGUMENT, TBT_ARGUMENT = "rel_ttft_slo_s", "rel_tbt_slo_s"  # of a request's extra_args
FORBIDDEN_S = 1.0  # of a hidden token a step, where there are none: no policy wants that


class RequestTable:
    """The unfinished requests that can be scheduled, as a caching policy reads them.

    Where all rows keep the same type, a policy is shown keys and values alone, in blocks of that type's
    tokens, and hidden states that cost more than they can ever gain.

    Attributes:
        requests: a row each; those whose grammar is still compiled are not among them.
    """

    def __init__(
        self,
        scheduler: Host,
        queue: PlannedQueue,
        ledger: RowLedger,
        types: RowTypes,
        settings: SchedulerSettings,
    ) -> None:
        self._scheduler, self._queue, self._ledger, self._types = scheduler, queue, ledger, types
        self._slos_s = settings.ttft_slo_s, settings.tbt_slo_s
        self._blocked: dict[str, Request] = {}
        self.requests = Requests()
        self._limits = Limits(host.admission_cap(scheduler), scheduler.max_num_scheduled_tokens)
        kv, hidden = (types.tokens_per_block(cache) for cache in ("kv", "hidden"))
        only = types.tokens_per_block(types.only)
        sizes = (kv, hidden) if types.is_free else (only, only)
        self._memory = Memory(scheduling_host.num_blocks(scheduler), *sizes)

    def view(self, costs: CacheCosts) -> CacheView:
        """What there is now."""
        self._renew()
        if not self._types.is_free:
            costs = costs._replace(hidden_token_s=costs.kv_token_s + FORBIDDEN_S)
        return CacheView(time.monotonic(), self.requests, self._memory, self._limits, costs)

    def _renew(self) -> None:
        present, table = self._scheduler.requests, self.requests
        for request_id in [request_id for request_id in table.ids if request_id not in present]:
            table.remove(request_id)
        come = {**self._blocked, **self._queue.come}
        self._queue.come.clear()
        self._blocked = {}
        for request_id, request in come.items():
            if request_id not in present or request not in self._queue:
                continue
            if scheduling_host.is_blocked(request):
                self._blocked[request_id] = request
            else:
                table.put(self._state(request, None))
        for request in self._scheduler.running:
            cache = self._types.held(request) if self._types.is_free else "kv"
            table.put(self._state(request, cache))

    def _state(self, request: Request, cache: CacheType | None) -> RequestState:
        ledger, args = self._ledger, _extra_args(request)
        arrival_s, last_token_s = ledger.times_of(request)
        left = ledger.rel_of(request).lengths.left
        ttft, tbt = self._slos_s
        return RequestState(
            request.request_id, arrival_s, request.num_prompt_tokens,
            request.num_tokens + request.num_output_placeholders,
            0 if cache is None else request.num_computed_tokens, cache, last_token_s,
            _slo(args.get(TTFT_ARGUMENT), ttft), _slo(args.get(TBT_ARGUMENT), tbt),
            left[min(request.num_output_tokens, len(left) - 1)],
        )  # fmt: skip


def _slo(asked: Any, default: float) -> float:
    """Seconds; what a client asks for goes before, where it makes sense."""
    seconds = as_slo(asked)
    return (default if seconds is None else seconds) or math.inf


def _extra_args(request: Request) -> Any:
    params = request.sampling_params
    return (params.extra_args if params is not None else None) or {}
