"""With which type rows are admitted where relserve's order of relQueries decides which rows those are."""

from __future__ import annotations

import numpy as np

from relserve.policies.caching.state import BlockMemory
from relserve.policies.caching.types import MemoryPressure, Once, tokens_made, type_of
from relserve.policies.model.cache_costs import CacheCosts
from relserve.vllm_plugin import host
from relserve.vllm_plugin.cache import scheduling_host
from relserve.vllm_plugin.cache.scheduling_types import RowTypes
from relserve.vllm_plugin.host import Host, HostRequest


class AdmissionType:
    """Chooses before each step as what rows come in; those at work stay what they are."""

    def __init__(self, scheduler: Host, types: RowTypes) -> None:
        self._scheduler, self._types = scheduler, types
        sizes = (types.tokens_per_block("kv"), types.tokens_per_block("hidden"))
        self._memory = BlockMemory(scheduling_host.num_blocks(scheduler), *sizes)

    def choose(self, num_waiting: int, row: HostRequest, row_output: float, costs: CacheCosts) -> None:
        """Choose for rows like this one, of which so many tokens are expected.

        Only those that wait for want of memory are a reason to be hidden: not those for whom there is room as
        keys and values, and not those for whom there is no seat.
        """
        scheduler = self._scheduler
        num_running = len(scheduler.running)
        seats = max(host.admission_cap(scheduler) - num_running, 0)
        tokens = max(round(row.num_tokens + row_output), 1)
        fitting = self._types.num_free_tokens("kv") // tokens
        pressure = MemoryPressure(num_running, max(min(num_waiting, seats) - fitting, 0))
        once = self._once(row, row_output)
        self._types.default = type_of(tokens, pressure, self._memory, costs, once)

    def _once(self, row: HostRequest, row_output: float) -> Once:
        most = row.num_tokens - 1
        hidden, kv = (min(self._types.num_cached_as(row, each), most) for each in ("hidden", "kv"))
        prompt, begins_with = np.array([row.num_tokens]), np.array([hidden])
        made = tokens_made(prompt, begins_with, self._scheduler.max_num_scheduled_tokens)
        return Once(made, np.array([max(kv - hidden, 0)]), np.array([row_output]))
