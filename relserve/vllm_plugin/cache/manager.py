"""vLLM's block manager for two kinds of requests: of keys and values, and hidden ones, which hold X.

A hidden request's list of blocks begins with vLLM's null block, which no other request's does: so its kind
travels in the block table, and nothing between the scheduler and the attention has to know of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relserve.vllm_plugin.cache.vllm_parts import FullAttentionManager, KVCacheBlock, resolve_block_hashes

# X and keys of the same tokens must never be taken for each other: X's blocks are kept in the prefix cache
# as those of a group of layers that there is not.
HIDDEN_GROUP_OFFSET = 1 << 16


class HybridManager(FullAttentionManager):
    """Blocks of keys and values, and of X, from one pool.

    Attributes:
        tokens_per_block: tokens of keys and values in a block.
        hidden_tokens_per_block: tokens of X in a block.
    """

    def __init__(self, kv_cache_spec: Any, **kwargs: Any) -> None:
        super().__init__(kv_cache_spec, **kwargs)
        self.tokens_per_block = int(self.block_size)
        self.hidden_tokens_per_block: int = kv_cache_spec.hidden_tokens_per_block
        self._hidden: set[str] = set()
        self._hidden_group_id = self.kv_cache_group_id + HIDDEN_GROUP_OFFSET

    def set_kind(self, request_id: str, hidden: bool) -> None:
        """Say what a request holds from now on; it must hold nothing yet, or no longer."""
        assert not self.req_to_blocks.get(request_id), "free its blocks before it changes its kind"
        if hidden:
            self._hidden.add(request_id)
        else:
            self._hidden.discard(request_id)

    def is_hidden(self, request_id: str) -> bool:
        """Whether a request holds X."""
        return request_id in self._hidden

    def forget(self, request_id: str) -> None:
        """A request has left."""
        self._hidden.discard(request_id)

    def num_blocks_for(self, num_tokens: int, hidden: bool) -> int:
        """Blocks that so many tokens take."""
        return -(-num_tokens // (self.hidden_tokens_per_block if hidden else self.tokens_per_block))

    def find_hidden_prefix(self, request: Any) -> tuple[list[KVCacheBlock], int]:
        """Blocks of X in the prefix cache that a hidden request can begin with, its mark first; their tokens.

        The last token is computed always: its answer is what is asked for.
        """
        found: list[KVCacheBlock] = []
        if self.enable_caching:
            hashes = self._hashes(request)
            for i in range(min(len(hashes), (request.num_tokens - 1) // self.hidden_tokens_per_block)):
                cached = self.block_pool.get_cached_block(hashes[i], [self._hidden_group_id])
                if not cached:
                    break
                found.append(cached[0])
        marked = [self._null_block, *found] if found else []
        return marked, len(found) * self.hidden_tokens_per_block

    def _hashes(self, request: Any) -> Any:
        return resolve_block_hashes(
            request.block_hashes, self.block_pool.hash_block_size, self.hidden_tokens_per_block
        )

    def get_num_blocks_to_allocate(
        self, request_id: str, num_tokens: int, new_computed_blocks: Sequence[KVCacheBlock], *args: Any,
        **kwargs: Any,
    ) -> int:  # fmt: skip
        if request_id not in self._hidden:
            return super().get_num_blocks_to_allocate(
                request_id, num_tokens, new_computed_blocks, *args, **kwargs
            )
        held = max(len(self.req_to_blocks.get(request_id, ())) - 1, 0)
        held += max(len(new_computed_blocks) - 1, 0)
        missing = max(self.num_blocks_for(num_tokens, hidden=True) - held, 0)
        return missing + int(self._get_num_evictable_blocks(new_computed_blocks))

    def add_local_computed_blocks(
        self, request_id: str, new_computed_blocks: Sequence[KVCacheBlock], *args: Any, **kwargs: Any
    ) -> None:
        if request_id not in self._hidden:
            super().add_local_computed_blocks(request_id, new_computed_blocks, *args, **kwargs)
            return
        blocks = self.req_to_blocks[request_id]
        assert not blocks, "found in the prefix cache once, when a request is admitted"
        self.block_pool.touch(new_computed_blocks[1:])
        blocks.extend(new_computed_blocks)
        self.num_cached_block[request_id] = max(len(blocks) - 1, 0)

    def allocate_new_blocks(self, request_id: str, num_tokens: int, *args: Any, **kwargs: Any) -> Any:
        if request_id not in self._hidden:
            return super().allocate_new_blocks(request_id, num_tokens, *args, **kwargs)
        blocks = self.req_to_blocks[request_id]
        new = [] if blocks else [self._null_block]
        num_missing = self.num_blocks_for(num_tokens, hidden=True) - max(len(blocks) - 1, 0)
        if num_missing > 0:
            new += self.block_pool.get_new_blocks(num_missing)
        blocks.extend(new)
        return new

    def cache_blocks(self, request: Any, num_tokens: int, *args: Any, **kwargs: Any) -> None:
        request_id = request.request_id
        if request_id not in self._hidden:
            super().cache_blocks(request, num_tokens, *args, **kwargs)
            return
        num_full = num_tokens // self.hidden_tokens_per_block
        self.block_pool.cache_full_blocks(
            request=request, blocks=self.req_to_blocks[request_id][1:],
            num_cached_blocks=self.num_cached_block.get(request_id, 0), num_full_blocks=num_full,
            block_size=self.hidden_tokens_per_block, kv_cache_group_id=self._hidden_group_id,
        )  # fmt: skip
        self.num_cached_block[request_id] = max(num_full, self.num_cached_block.get(request_id, 0))

    def pop_blocks_for_free(self, request_id: str) -> list[KVCacheBlock]:
        blocks: list[KVCacheBlock] = super().pop_blocks_for_free(request_id)
        return blocks[1:] if blocks and blocks[0].is_null else blocks
