"""How a step's hidden requests are parted: over X or over keys and values, and where those are put."""

from __future__ import annotations

from inspect import signature

import numpy as np
import pytest

from relserve.vllm_plugin.cache import vllm_parts
from tests.modules import later

attending = later("relserve.vllm_plugin.cache.attending")
backend = later("relserve.vllm_plugin.cache.backend")
batch = later("relserve.vllm_plugin.cache.batch")
torch = later("torch")


OPT = attending.AttentionShape(x_width=1024, num_heads=16, head_dim=64, is_rotated=False)


def chosen(queries: int, tokens: int, shape: attending.AttentionShape = OPT) -> bool:
    return bool(attending.absorbs(np.array([queries]), np.array([tokens]), shape)[0])


@pytest.mark.parametrize(
    ("queries", "tokens", "over_x"),
    [(1, 2, False), (1, 110, True), (1, 2048, True), (64, 64, False), (64, 87, False), (64, 264, False)],
)
def test_decodes_attend_over_x_and_chunks_over_keys_and_values(
    queries: int, tokens: int, over_x: bool
) -> None:
    assert chosen(queries, tokens) == over_x


def test_keys_with_positions_are_made_for_all_tokens_either_way() -> None:
    rotated = OPT._replace(is_rotated=True)
    assert not chosen(1, 2, rotated)
    assert not chosen(64, 264, rotated)


def test_made_rows_lie_one_after_the_other_in_blocks_of_their_own() -> None:
    starts = np.array([0, 3, 4, 9])
    seq_lens = np.array([7, 40, 5])
    table = np.array([[0, 9, 8], [5, 6, 0], [0, 4, 3]], np.int32)  # the second holds keys and values
    made = batch.BatchRows(starts, seq_lens, table).made(np.array([0, 2]), tokens_per_block=4, block_size=2)
    assert made.tokens.tolist() == [0, 1, 2, 4, 5, 6, 7, 8]
    assert made.x_block.tolist() == [9, 9, 9, 9]
    assert made.x_place.tolist() == made.positions.tolist() == [0, 1, 2, 3]
    assert made.earlier_slots.tolist() == [0, 1, 2, 3]
    assert made.slots.tolist() == [4, 5, 6, 8, 9, 10, 11, 12]
    assert made.block_table[:, :3].tolist() == [[0, 1, 2], [4, 5, 6]]
    assert made.num_blocks == 7


def test_a_group_holds_as_many_tokens_as_it_may_or_one_request() -> None:
    found = batch.grouped(np.array([1, 3, 4, 8, 9]), np.array([5, 5, 20, 1, 9]), most_tokens=10)
    assert [group.tolist() for group in found] == [[1, 3], [4], [8, 9]]


@pytest.mark.vllm
def test_the_memory_of_blocks_is_rows_of_x_whatever_order_keys_and_values_have_in_it() -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed")
    memory = torch.arange(3 * 2 * 32 * 8.0)  # 3 blocks of 32 tokens, 2 heads of 4 numbers
    by_heads = memory.view(3, 2, 32, 8)
    by_tokens = memory.view(3, 32, 2, 8).transpose(1, 2)
    expected = memory.view(3, 64, 8)
    for blocks in (by_heads, by_tokens):
        assert torch.equal(backend.x_pool(blocks, 8), expected)
    assert torch.equal(backend.x_pool(by_heads[1:], 8), expected[1:])
    with pytest.raises(ValueError, match="has gaps"):
        backend.x_pool(by_tokens[:, :1], 4)


@pytest.mark.vllm
def test_on_cuda_it_builds_on_flash_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vllm", reason="vLLM is not installed")
    on_cpu = {name: getattr(vllm_parts, name) for name in vllm_parts.__all__ if name.startswith("Platform")}
    monkeypatch.setattr(vllm_parts, "runs_on_cuda", lambda: True)
    for name, of_cpu in on_cpu.items():
        on_cuda = getattr(vllm_parts, name)
        assert on_cuda.__name__.startswith("FlashAttention")
        ours = {"PlatformAttention": "forward do_kv_cache_update", "PlatformMetadataBuilder": "build"}
        for method in ours.get(name, "").split():
            of_both = [list(signature(getattr(each, method)).parameters) for each in (of_cpu, on_cuda)]
            assert of_both[0] == of_both[1]
