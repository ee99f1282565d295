"""Weighted sums of X by one kernel that reads X once: compiled ahead and interpreted, not run on a GPU yet.

The scores of a token need all columns of X before any column of it can be added up, and a multiprocessor
holds the sums of some hundred columns. So a query's columns are split among programs, its parts. Each part
keeps its columns of a tile of tokens in registers, adds its share of their scores to memory that all parts
see, and waits for the others while it loads its next tile.

A wait ends on a GPU that holds all parts of one query at once: programs take their queries in the order in
which they begin, so at most one query has parts that have not begun, and all others finish and make room.
"""

# mypy: ignore-errors
# Triton reads the annotations of a kernel's arguments, so they are no strings here.
import torch
import triton
import triton.language as tl
from relserve_kernels.gpu.tiles import Tile
from relserve_kernels.pages import PagedX
from torch import Tensor

from lab.kernels.roofline import ONCE


@triton.jit
def mix_once(
    asked, pool, table, owners, seen, scores, arrived, begun, mixed, page_stride, table_stride, per_page,
    width, heads, most, counters, scale,
    HEADS: tl.constexpr, ROWS: tl.constexpr, WIDE: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """mixed[query, head] = softmax(scale * X . asked[query, head]) X. Grid: [queries * PARTS].

    A query sees the first seen[query] tokens of sequence owners[query]; one that sees none is not written.
    scores [queries, heads, most], arrived [queries, counters] (a tile of tokens each, and one more) and begun
    begin with 0.
    """
    turn = tl.atomic_add(begun, 1)
    query = turn // PARTS
    length = tl.load(seen + query)
    if length > 0:
        head, place = tl.arange(0, HEADS), tl.arange(0, ROWS)
        column = (turn % PARTS) * WIDE + tl.arange(0, WIDE)
        wanted = (head[:, None] < heads) & (column[None, :] < width)
        numbers = (query * heads + head[:, None]) * width + column[None, :]
        q = tl.load(asked + numbers, mask=wanted, other=0.0)
        pages = table + tl.load(owners + query) * table_stride
        scored = scores + (query * heads + head[:, None]).to(tl.int64) * most
        tile = arrived + query * counters
        x = tl.zeros((ROWS, WIDE), pool.dtype.element_ty)
        mix = tl.zeros((HEADS, WIDE), tl.float32)
        top = tl.full((HEADS,), float("-inf"), tl.float32)
        total = tl.zeros((HEADS,), tl.float32)
        for first in range(0, length + ROWS, ROWS):  # a tile is scored, and the one before it added up
            token = first + place
            page = tl.load(pages + token // per_page, mask=token < length, other=0)
            row = page.to(tl.int64) * page_stride + (token % per_page) * width
            inside = (token[:, None] < length) & (column[None, :] < width)
            new = tl.load(pool + row[:, None] + column[None, :], mask=inside, other=0.0)
            part = tl.dot(q, tl.trans(new), input_precision="ieee") * scale
            known = (token[None, :] < length) & (head[:, None] < heads)
            tl.atomic_add(scored + token[None, :], part, mask=known, sem="relaxed")
            tl.debug_barrier()  # what all threads added is there before the part is counted
            tl.atomic_add(tile, 1, sem="release")
            before = tl.where(first > 0, tile - 1, tile)
            needed = tl.where(first > 0, PARTS, 0)
            there = tl.atomic_add(before, 0, sem="acquire")
            while there < needed:
                there = tl.atomic_add(before, 0, sem="acquire")
            token -= ROWS
            # It depends on the wait, so that no compiler loads scores before it.
            come = tl.where(there < needed, 0, length)
            known = (token[None, :] >= 0) & (token[None, :] < come) & (head[:, None] < heads)
            score = tl.load(scored + token[None, :], mask=known, other=float("-inf"), cache_modifier=".cg")
            peak = tl.maximum(top, tl.max(score, 1))
            level = tl.where(peak == float("-inf"), 0.0, peak)
            share = tl.exp(score - level[:, None])
            decay = tl.exp(top - level)
            total = total * decay + tl.sum(share, 1)
            mix = tl.dot(share.to(x.dtype), x, mix * decay[:, None], input_precision="ieee")
            top, x = peak, new
            tile += 1
        total = tl.maximum(total, 1.0)  # as it is, for the greatest share counted 1; 0 where there is no head
        tl.store(mixed + numbers, mix / total[:, None], mask=wanted)


def tile_of(dtype: torch.dtype) -> Tile:
    """Tokens and columns of a part."""
    return Tile(16, 128, 8, 1) if dtype == torch.float32 else ONCE


def mix_x(
    asked: Tensor, owners: Tensor, seen: Tensor, x: PagedX, scale: float, tile: Tile | None = None
) -> Tensor:
    """As `relserve_kernels.gpu.path.mix_x`.

    Raises:
        ValueError: the GPU does not hold all parts of a query at once.
    """
    num_rows, heads, width = asked.shape
    tile = tile or tile_of(asked.dtype)
    most, parts = x.block_table.shape[1] * x.tokens_per_block, triton.cdiv(width, tile.wide)
    if asked.is_cuda and parts > torch.cuda.get_device_properties(asked.device).multi_processor_count:
        raise ValueError(f"{parts} parts of {tile.wide} columns: the GPU has fewer multiprocessors")
    counters = triton.cdiv(most, tile.rows) + 1
    scores = torch.zeros(num_rows, heads, most, dtype=torch.float32, device=asked.device)
    arrived = torch.zeros(num_rows * counters + 1, dtype=torch.int32, device=asked.device)
    mixed = torch.zeros_like(asked)
    mix_once[(num_rows * parts,)](
        asked, x.pool, x.block_table, owners, seen, scores, arrived, arrived[-1:], mixed,
        x.pool.stride(0), x.block_table.stride(0), x.tokens_per_block, width, heads, most, counters, scale,
        **tile.constants(max(16, triton.next_power_of_2(heads))), PARTS=parts, **tile.launch(),
    )  # fmt: skip
    return mixed
