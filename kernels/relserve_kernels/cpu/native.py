"""The CPU path with C++ kernels: pages are read where they lie, each once a query.

Only what pays is done there: sequences with few queries, projections included. Where the CPU multiplies bf16,
AMX or AVX-512 do, for the widths that they take; everything else runs in float32's vectors (AVX2, AVX-512),
whatever X's number type. Without vectors it is plain torch's.
"""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from relserve_kernels.cpu import plain
from relserve_kernels.cpu.plain import attend_value_absorbed
from relserve_kernels.pages import PagedX, QuerySpan, spans

__all__ = ["attend_absorbed", "attend_value_absorbed", "store_x"]

_VECTOR_TYPES = (torch.float32, torch.bfloat16, torch.float16)


def store_x(x: Tensor, pool: Tensor, slots: Tensor) -> None:
    """Write rows of X into their slots; see store.store_x."""
    torch.ops.relserve_kernels.store_x(x, pool, slots)


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
    """Attend with keys and values absorbed; see absorbed.attend_absorbed."""
    if _in_vectors(query.dtype) and _are_few(query, query_start):
        _attend(query, query_start, x, wk, wv, value_bias, scale, out)
        return
    asking = list(spans(query_start, x))
    few = [span for span in asking if span.num_queries <= most_absorbed(query)]
    if not few or not _in_vectors(query.dtype):
        plain.attend_absorbed(query, query_start, x, wk, wv, value_bias, scale, out)
    else:
        _attend_few(few, query, x, wk, wv, value_bias, scale, out)
        for span in asking:
            if span.num_queries > most_absorbed(query):
                plain.attend_span(span, query, x, wk, wv, value_bias, scale, out)


def _attend(
    query: Tensor,
    query_start: Tensor,
    x: PagedX,
    wk: Tensor,
    wv: Tensor,
    value_bias: Tensor | None,
    scale: float,
    out: Tensor,
) -> None:
    """Attend with everything absorbed; each row of the query belongs to a sequence."""
    key, value = (weight.permute(1, 2, 0).contiguous() for weight in (wk, wv))
    bias = None if value_bias is None else value_bias.contiguous()
    found = out if out.is_contiguous() else torch.empty_like(query, memory_format=torch.contiguous_format)
    torch.ops.relserve_kernels.attend_absorbed(
        query.contiguous(), query_start, x.pool, x.block_table, x.seq_lens, key, value, bias, scale, found
    )
    if found is not out:
        out.copy_(found)


def _attend_few(
    few: list[QuerySpan],
    query: Tensor,
    x: PagedX,
    wk: Tensor,
    wv: Tensor,
    value_bias: Tensor | None,
    scale: float,
    out: Tensor,
) -> None:
    """Attend for some of the sequences, as a batch of their own."""
    rows = torch.cat([torch.arange(span.first, span.stop) for span in few])
    own = torch.tensor([span.sequence for span in few])
    starts = torch.tensor([0, *(span.num_queries for span in few)]).cumsum(0).int()
    found = torch.empty(len(rows), *query.shape[1:], dtype=query.dtype)
    theirs = PagedX(x.pool, x.block_table[own], x.seq_lens[own])
    _attend(query[rows], starts, theirs, wk, wv, value_bias, scale, found)
    out[rows] = found


def most_absorbed(query: Tensor) -> int:
    """The queries of one sequence up to which absorbing is cheaper: as many as a head has numbers cost as
    much a token as both projections do, at half of their speed.
    """
    return max(1, query.shape[2] // 2)


def _are_few(query: Tensor, query_start: Tensor) -> bool:
    """Whether each row of the query belongs to a sequence, and none has too many."""
    most = int(query_start.diff().max()) if query_start.shape[0] > 1 else 0
    if not 0 < most <= most_absorbed(query):
        return False
    return int(query_start[0]) == 0 and int(query_start[-1]) == query.shape[0]


def _in_vectors(dtype: torch.dtype) -> bool:
    """Whether the CPU's vectors can attend."""
    return dtype in _VECTOR_TYPES and _has_vectors()


@functools.cache
def _has_vectors() -> bool:
    found: bool = torch.ops.relserve_kernels.has_vectors()
    return found
