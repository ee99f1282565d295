"""Blocks that several rows hold: what a row really frees when it is dropped, and takes to let in."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any, NamedTuple

from relserve.policies.caching.requests import CacheType
from relserve.vllm_plugin.cache import scheduling_host
from relserve.vllm_plugin.cache.scheduling_types import RowTypes
from relserve.vllm_plugin.host import Host, HostRequest


class Begun(NamedTuple):
    """What a row that waits can begin with: tokens that others computed, and blocks of it that some hold."""

    num_tokens: int
    shared_kv: int
    shared_hidden: int


class SharedBlocks:
    """Tells what rows share with others.

    Rows share the blocks in which they begin alike, so those of one row that are shared come first.
    """

    def __init__(self, scheduler: Host, types: RowTypes) -> None:
        self._scheduler, self._types = scheduler, types

    def num_held(self, request_ids: Iterable[str]) -> int:
        """Blocks in all these rows' lists, hidden rows' marks among them."""
        return sum(map(len, scheduling_host.block_lists(self._scheduler, request_ids)))

    def of_running(self, request: HostRequest) -> int:
        """Blocks of a running row that others hold as well."""
        blocks = scheduling_host.blocks_of(self._scheduler, request.request_id)
        first = 1 if blocks and blocks[0].is_null else 0
        if len(blocks) == first or blocks[first].ref_cnt < 2:
            return 0
        return bisect_left(blocks, True, lo=first, key=_is_held_once) - first

    def of_waiting(self, request: HostRequest) -> Begun:
        """What there is in the prefix cache for a row that waits.

        Where it may become either type, its tokens are those of the type that has more of them.
        """
        only = self._types.fixed(request)
        kv_tokens, kv = (0, 0) if only == "hidden" else self._found(request, "kv")
        hidden_tokens, hidden = (0, 0) if only == "kv" else self._found(request, "hidden")
        return Begun(max(kv_tokens, hidden_tokens), kv, hidden)

    def _found(self, request: HostRequest, cache: CacheType) -> tuple[int, int]:
        blocks, num_tokens = scheduling_host.found_prefix(self._scheduler, request, cache)
        return num_tokens, sum(block.ref_cnt > 0 and not block.is_null for block in blocks)


def _is_held_once(block: Any) -> bool:
    return bool(block.ref_cnt < 2)
