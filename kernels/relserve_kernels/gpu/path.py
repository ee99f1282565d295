"""The path of a GPU: per-head products by cuBLAS around Triton kernels that read X where it lies."""

from __future__ import annotations

import torch
import triton
from torch import Tensor

from relserve_kernels.gpu import kernels
from relserve_kernels.gpu.tiles import GATHER_WIDE, SHARE_WARPS, SHARE_WIDE, STORE_WIDE, Tiles, tiles_of
from relserve_kernels.pages import PagedX, ProjectKeys, QuerySpan, causal_mask, spans


def store_x(x: Tensor, pool: Tensor, slots: Tensor) -> None:
    """Write rows of X into their slots; see store.store_x."""
    grid = (x.shape[0], triton.cdiv(x.shape[1], STORE_WIDE))
    if x.shape[0]:
        kernels.store_rows[grid](
            x, pool, slots, x.stride(0), pool.stride(0), pool.shape[1], x.shape[1], WIDE=STORE_WIDE
        )


def attend_absorbed(
    query: Tensor,
    query_start: Tensor,
    x: PagedX,
    wk: Tensor,
    wv: Tensor,
    value_bias: Tensor | None,
    scale: float,
    out: Tensor,
) -> None:
    """Attend with keys and values absorbed; nothing here waits for the GPU; see absorbed.attend_absorbed."""
    if not query.shape[0]:
        return
    owners, seen = owners_and_seen(query.shape[0], query_start, x)
    asked = torch.bmm(query.transpose(0, 1), wk.permute(1, 2, 0)).transpose(0, 1).contiguous()
    mixed = mix_x(asked, owners, seen, x, scale)
    found = torch.bmm(mixed.transpose(0, 1), wv.transpose(0, 1)).transpose(0, 1)
    found = found if value_bias is None else found + value_bias
    out.copy_(torch.where((seen > 0)[:, None, None], found, out))


def owners_and_seen(num_rows: int, query_start: Tensor, x: PagedX) -> tuple[Tensor, Tensor]:
    """Of each batch row, int32: the sequence it belongs to, and how many tokens it sees, 0 for padding."""
    row = torch.arange(num_rows, device=query_start.device, dtype=torch.int32)
    owners = torch.searchsorted(query_start[1:].contiguous(), row, right=True, out_int32=True)
    owners = owners.clamp(max=x.seq_lens.shape[0] - 1)
    seen = x.seq_lens[owners] - (query_start[owners + 1] - row) + 1
    return owners, torch.where(row < query_start[-1], seen, 0).int()


def mix_x(
    asked: Tensor, owners: Tensor, seen: Tensor, x: PagedX, scale: float, tiles: Tiles | None = None
) -> Tensor:
    """The weighted sums of X, [t, num_heads, d], of absorbed queries of the same shape."""
    num_rows, heads, width = asked.shape
    most = x.block_table.shape[1] * x.tokens_per_block
    tiles = tiles or tiles_of(heads, asked.dtype)
    scores = torch.empty(num_rows, heads, most, dtype=torch.float32, device=asked.device)
    shares = torch.empty_like(scores, dtype=asked.dtype)
    mixed = torch.zeros_like(asked)
    where = (x.pool, x.block_table, owners, seen)
    strides = (x.pool.stride(0), x.block_table.stride(0), x.tokens_per_block, width, heads, most)
    scoring, summing = tiles.scores, tiles.sums
    kernels.scores_of_x[(num_rows, triton.cdiv(most, scoring.rows))](
        asked, *where, scores, *strides, scale, **scoring.constants(tiles.heads), **scoring.launch()
    )
    kernels.shares_of_scores[(num_rows, heads)](
        scores, shares, seen, heads, most, WIDE=SHARE_WIDE, num_warps=SHARE_WARPS
    )
    kernels.sums_of_x[(num_rows, triton.cdiv(width, summing.wide))](
        shares, *where, mixed, *strides, **summing.constants(tiles.heads), **summing.launch()
    )
    return mixed


def attend_value_absorbed(
    query: Tensor,
    query_start: Tensor,
    x: PagedX,
    project_keys: ProjectKeys,
    wv: Tensor,
    value_bias: Tensor | None,
    scale: float,
    out: Tensor,
) -> None:
    """Attend with keys projected again and values absorbed; see absorbed.attend_value_absorbed."""
    asking = list(spans(query_start, x))
    for span, rows in zip(asking, gathered(asking, x), strict=True):
        keys = project_keys(torch.arange(span.num_tokens, device=rows.device), rows)
        asked = query[span.first : span.stop].transpose(0, 1)
        scores = torch.bmm(asked, keys.permute(1, 2, 0)).float() * scale
        shares = scores.masked_fill(~causal_mask(span, rows.device), float("-inf")).softmax(-1).to(rows.dtype)
        found = torch.bmm(torch.matmul(shares, rows), wv.transpose(0, 1)).transpose(0, 1)
        out[span.first : span.stop] = found if value_bias is None else found + value_bias


def gathered(asking: list[QuerySpan], x: PagedX) -> list[Tensor]:
    """The rows of X of each asking sequence, [num_tokens, d], copied by one kernel."""
    if not asking:
        return []
    device, width = x.pool.device, x.width
    lengths = torch.zeros_like(x.seq_lens)
    own = [span.sequence for span in asking]
    counts = [span.num_tokens for span in asking]
    lengths[own] = torch.tensor(counts, dtype=torch.int32, device=device)
    starts = lengths.cumsum(0) - lengths
    rows = torch.empty(sum(counts), width, dtype=x.pool.dtype, device=device)
    grid = (max(counts), lengths.shape[0], triton.cdiv(width, GATHER_WIDE))
    kernels.gather_rows[grid](
        x.pool, x.block_table, lengths, starts, rows, x.pool.stride(0), x.block_table.stride(0),
        x.tokens_per_block, width, WIDE=GATHER_WIDE,
    )  # fmt: skip
    return list(rows.split(counts))
