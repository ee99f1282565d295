"""As what each row keeps the tokens that it has computed: keys and values, or hidden states."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Protocol

from relserve.policies.caching.requests import CacheType
from relserve.vllm_plugin import host
from relserve.vllm_plugin.cache import scheduling_host
from relserve.vllm_plugin.host import Host, HostRequest

logger = logging.getLogger(__name__)

CACHE_ARGUMENT = "rel_cache"  # of a request's extra_args: "kv" or "hidden"
TYPES: tuple[CacheType, ...] = ("kv", "hidden")


class TypedBlocks(Protocol):
    """The manager of a pool whose blocks hold either type; see `relserve.vllm_plugin.cache.manager`."""

    hidden_tokens_per_block: int

    def set_kind(self, request_id: str, hidden: bool) -> None: ...
    def is_hidden(self, request_id: str) -> bool: ...
    def find_hidden_prefix(self, request: HostRequest) -> tuple[list[object], int]: ...


class RowTypes:
    """Tells with which type each row is admitted, and which one it has.

    What somebody insists on goes before the request's own `extra_args["rel_cache"]`, that before a plan's
    word, and that before the default.

    Args:
        mode: see `settings.CACHES`.

    Attributes:
        is_free: whether rows may have one type or the other; else all have that of `only`.
        default: the type of rows of which nobody says anything.
        planned: the types that the plan of a step has, by request id.
        num_switched: rows so far that were dropped and came back as the other type.
    """

    def __init__(self, scheduler: Host, mode: str) -> None:
        manager: TypedBlocks | None = None if mode == "kv" else scheduling_host.hybrid_manager(scheduler)
        self._scheduler, self._manager = scheduler, manager
        self.is_free = manager is not None and mode == "hybrid"
        self.only: CacheType = "hidden" if manager is not None and mode == "hidden" else "kv"
        self.default: CacheType = self.only
        self.planned: Mapping[str, CacheType] = {}
        self._insisted: dict[str, CacheType] = {}
        self._dropped: dict[str, CacheType] = {}
        self.num_switched = 0
        self._has_warned = False

    def insist(self, request_id: str, cache: CacheType) -> None:
        """Have a request be admitted with this type from now on, whatever else is said."""
        self._insisted[request_id] = cache

    def forget(self, request_id: str) -> None:
        """A request has left."""
        self._insisted.pop(request_id, None)
        self._dropped.pop(request_id, None)

    def dropped(self, request: HostRequest) -> None:
        """A running row is about to lose what it holds."""
        self._dropped[request.request_id] = self.held(request)

    def resumed(self, request: HostRequest) -> None:
        """A row that was dropped runs again."""
        before = self._dropped.pop(request.request_id, None)
        self.num_switched += before not in (None, self.held(request))

    def of_admission(self, request: HostRequest) -> CacheType:
        """The type with which a row would be admitted now."""
        return self.fixed(request) or self.planned.get(request.request_id, self.default)

    def fixed(self, request: HostRequest) -> CacheType | None:
        """The type that a row has to have, whatever a plan says; None where a plan decides."""
        if self._manager is None:
            return self.only
        wanted = self._insisted.get(request.request_id) or self._wanted(request)
        return self.only if wanted is None and not self.is_free else wanted

    def held(self, request: HostRequest) -> CacheType:
        """The type of a running row."""
        return "hidden" if self._manager is not None and self._manager.is_hidden(request.request_id) else "kv"

    def tokens_per_block(self, cache: CacheType) -> int:
        """Tokens that a block holds as this type."""
        if cache == "hidden" and self._manager is not None:
            return self._manager.hidden_tokens_per_block
        return self._scheduler.block_size

    def num_tokens(self, cache: CacheType) -> int:
        """Tokens in all for which there is memory, kept as this type."""
        return self._in_tokens(host.num_kv_tokens(self._scheduler), cache)

    def num_free_tokens(self, cache: CacheType) -> int:
        """Tokens for which there is memory that no row holds."""
        return self._in_tokens(host.num_free_kv_tokens(self._scheduler), cache)

    def _in_tokens(self, kv_tokens: int, cache: CacheType) -> int:
        return kv_tokens * self.tokens_per_block(cache) // self._scheduler.block_size

    def num_cached_tokens(self, request: HostRequest) -> int:
        """Tokens of a row in the prefix cache, of the type with which it would be admitted."""
        return self.num_cached_as(request, self.of_admission(request))

    def num_cached_as(self, request: HostRequest, cache: CacheType) -> int:
        """Tokens of a row in the prefix cache as one type."""
        if self._manager is not None and cache == "hidden":
            return self._manager.find_hidden_prefix(request)[1]
        return host.num_cached_tokens(self._scheduler, request)

    def _wanted(self, request: HostRequest) -> CacheType | None:
        """The type that a request asks for; nonsense counts as none, and the first of an engine is logged."""
        params = request.sampling_params
        wanted = None if params is None or not params.extra_args else params.extra_args.get(CACHE_ARGUMENT)
        for cache in TYPES:
            if wanted == cache:
                return cache
        if wanted is not None and not self._has_warned:
            self._has_warned = True
            logger.warning(
                "a request asks for %s %r; there are: %s; it is served as others, and so are more like it",
                CACHE_ARGUMENT, str(wanted)[:40], ", ".join(TYPES),
            )  # fmt: skip
        return None
