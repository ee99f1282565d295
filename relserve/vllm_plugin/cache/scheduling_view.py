"""What a caching policy is shown of vLLM's requests: a table that is kept from step to step."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from relserve.call.rel_tag import asked_slos
from relserve.policies.caching.requests import (
    HIDDEN,
    NOTHING,
    CacheType,
    RequestColumns,
    RequestState,
)
from relserve.policies.caching.state import BatchLimits, BlockMemory, CacheView
from relserve.policies.model.cache_costs import CacheCosts
from relserve.vllm_plugin import host
from relserve.vllm_plugin.cache import scheduling_host
from relserve.vllm_plugin.cache.scheduling_shared import Begun, SharedBlocks
from relserve.vllm_plugin.cache.scheduling_types import RowTypes
from relserve.vllm_plugin.host import Host, HostRequest
from relserve.vllm_plugin.ledger import RowLedger
from relserve.vllm_plugin.queue import RelQueue
from relserve.vllm_plugin.settings import SchedulerSettings, as_slo

LOOKS = 8  # waiting rows that a step looks up in the prefix cache; each takes 10 to 20 us


class RequestTable:
    """The unfinished requests that can be scheduled, as a caching policy reads them.

    Attributes:
        requests: a row each; not those whose grammar is still compiled, nor those that vLLM keeps elsewhere,
            such as a streamed input that awaits its next piece: their blocks and seats are taken off.
    """

    def __init__(
        self,
        scheduler: Host,
        queue: RelQueue,
        ledger: RowLedger,
        types: RowTypes,
        settings: SchedulerSettings,
    ) -> None:
        self._scheduler, self._queue, self._ledger, self._types = scheduler, queue, ledger, types
        self._slos_s = settings.ttft_slo_s, settings.tpot_slo_s
        self._shared = SharedBlocks(scheduler, types)
        self._round: Iterator[HostRequest] = iter(())
        self._blocked: dict[str, HostRequest] = {}
        self._num_running = 0
        self._num_own = 0  # blocks that one running row holds alone
        self.requests = RequestColumns()
        self._limits = BatchLimits(host.admission_cap(scheduler), scheduler.max_num_scheduled_tokens)
        sizes = (types.tokens_per_block("kv"), types.tokens_per_block("hidden"))
        self._memory = BlockMemory(scheduling_host.num_blocks(scheduler), *sizes)

    def view(self, costs: CacheCosts) -> CacheView:
        """What there is now."""
        elsewhere = self._elsewhere()
        self._renew(elsewhere)
        memory, limits = self._memory, self._limits
        memory = memory._replace(num_blocks=scheduling_host.num_free_blocks(self._scheduler) + self._num_own)
        if elsewhere:
            limits = limits._replace(max_num_seqs=limits.max_num_seqs - len(elsewhere))
        return CacheView(time.monotonic(), self.requests, memory, limits, costs)

    def _elsewhere(self) -> list[str]:
        """Requests that neither run nor are in the queue; vLLM keeps what they hold."""
        present, running, queue = self._scheduler.requests, self._scheduler.running, self._queue
        if len(present) == len(running) + len(queue):
            return []
        at_work = {request.request_id for request in running}
        return [name for name, one in present.items() if name not in at_work and one not in queue]

    def _renew(self, elsewhere: Collection[str]) -> None:
        present, table = self._scheduler.requests, self.requests
        away = {request_id for request_id in elsewhere if request_id in table}
        for request_id in [name for name in table.ids if name not in present or name in away]:
            table.remove(request_id)
        come = {**self._blocked, **self._queue.come}
        self._queue.come.clear()
        self._blocked = {}
        for request_id, request in come.items():
            if request_id not in present or request not in self._queue:
                continue
            if scheduling_host.is_blocked(request):
                self._blocked[request_id] = request
                if request_id in table:  # a streamed input that has paused, in releases that queue it here
                    table.remove(request_id)
            else:
                table.put(self._state(request, None, self._shared.of_waiting(request)))
        self._look_round()
        self._renew_running()

    def _renew_running(self) -> None:
        """Bring rows at work up to date: what changes each step by columns, all of those that have begun."""
        running, table = self._scheduler.running, self.requests
        ids = [request.request_id for request in running]
        has_changed = len(ids) != self._num_running
        for place in np.flatnonzero(table.holds_of(ids) == NOTHING).tolist():
            request, has_changed = running[place], True
            begun = Begun(request.num_computed_tokens, 0, 0)
            table.put(self._state(request, self._types.held(request), begun))
        rows, self._num_running = table.rows_of(ids), len(ids)
        table.renew(
            rows,
            np.array([request.num_tokens + request.num_output_placeholders for request in running], np.int64),
            np.array([request.num_computed_tokens for request in running], np.int64),
            np.array([self._ledger.times_of(request)[1] for request in running], np.float64),
        )
        if has_changed:  # else nobody took, or let go, a block that others hold
            for request in running:
                table.share(request.request_id, self._types.held(request), self._shared.of_running(request))
        marks = table.holds[rows] == HIDDEN
        shared = np.where(marks, table.shared_hidden[rows], table.shared_kv[rows])
        self._num_own = self._shared.num_held(ids) - int(marks.sum()) - int(shared.sum())

    def _look_round(self) -> None:
        """Look some rows that wait up in the prefix cache again, of which others fill and free blocks."""
        for _ in range(min(LOOKS, len(self._queue))):
            request = next(self._round, None)
            if request is None:
                self._round = iter(list(self._queue))
                request = next(self._round)
            if request in self._queue and request.request_id in self.requests:
                self.requests.begins_with(request.request_id, *self._shared.of_waiting(request))

    def _state(self, request: HostRequest, cache: CacheType | None, begun: Begun) -> RequestState:
        ledger, args = self._ledger, _extra_args(request)
        arrival_s, last_token_s = ledger.times_of(request)
        left = ledger.rel_of(request).lengths.expected_left
        (ttft, tpot), asked = self._slos_s, asked_slos(args)
        return RequestState(
            request.request_id, arrival_s, request.num_prompt_tokens,
            request.num_tokens + request.num_output_placeholders,
            begun.num_tokens, cache, last_token_s,
            _slo(asked[0], ttft), _slo(asked[1], tpot),
            left[min(request.num_output_tokens, len(left) - 1)], only=self._types.fixed(request),
            shared_kv=begun.shared_kv, shared_hidden=begun.shared_hidden,
        )  # fmt: skip


def _slo(asked: Any, default: float) -> float:
    """Seconds; what a client asks for goes before, where it makes sense."""
    seconds = as_slo(asked)
    return (default if seconds is None else seconds) or math.inf


def _extra_args(request: HostRequest) -> Any:
    params = request.sampling_params
    return (params.extra_args if params is not None else None) or {}
