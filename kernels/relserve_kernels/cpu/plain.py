"""The CPU path in plain torch: one sequence after the other over its gathered rows.

Products are in the number type of X, softmax is in float32. A chunk of many queries is cheaper with keys and
values made once, 4 d^2 FLOPs a token, than absorbed for each query, 4 d heads each.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from relserve_kernels.pages import PagedX, ProjectKeys, QuerySpan, causal_mask, spans


def store_x(x: Tensor, pool: Tensor, slots: Tensor) -> None:
    """Write rows of X into their slots; see store.store_x."""
    kept = slots >= 0
    if not bool(kept.all()):
        x, slots = x[kept], slots[kept]
    pool[slots // pool.shape[1], slots % pool.shape[1]] = x


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
    for span in spans(query_start, x):
        attend_span(span, query, x, wk, wv, value_bias, scale, out)


def most_absorbed(query: Tensor) -> int:
    """The queries of one sequence up to which absorbing is cheaper, at the lower speed of its products."""
    return max(1, query.shape[2] // 4)


def attend_span(
    span: QuerySpan,
    query: Tensor,
    x: PagedX,
    wk: Tensor,
    wv: Tensor,
    value_bias: Tensor | None,
    scale: float,
    out: Tensor,
) -> None:
    """Attend for one sequence in whichever way is cheaper; see absorbed.attend_absorbed."""
    rows = x.rows(span.sequence, span.num_tokens)
    asked = query[span.first : span.stop]
    if span.num_queries > most_absorbed(query):
        keys, values = (torch.mm(rows, w.reshape(x.width, -1)).view(-1, *w.shape[1:]) for w in (wk, wv))
        values = values if value_bias is None else values + value_bias
        out[span.first : span.stop] = _attend(asked, keys, values, span, scale)
    else:
        absorbed = torch.bmm(asked.transpose(0, 1) * scale, wk.permute(1, 2, 0))
        shares = _shares(torch.matmul(absorbed, rows.T), span)
        out[span.first : span.stop] = _values_of(shares, rows, wv, value_bias)


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
    for span in spans(query_start, x):
        rows = x.rows(span.sequence, span.num_tokens)
        keys = project_keys(torch.arange(span.num_tokens), rows)
        asked = query[span.first : span.stop].transpose(0, 1) * scale
        shares = _shares(torch.bmm(asked, keys.permute(1, 2, 0)), span)
        out[span.first : span.stop] = _values_of(shares, rows, wv, value_bias)


def _shares(scores: Tensor, span: QuerySpan) -> Tensor:
    """Softmax over the tokens that each query sees, scores [num_heads, num_queries, num_tokens]."""
    if span.num_queries > 1:
        scores = scores.masked_fill(~causal_mask(span, scores.device), float("-inf"))
    return scores.softmax(-1, dtype=torch.float32).to(scores.dtype)


def _values_of(shares: Tensor, rows: Tensor, wv: Tensor, value_bias: Tensor | None) -> Tensor:
    mixed = torch.matmul(shares, rows)
    found = torch.bmm(mixed, wv.transpose(0, 1)).transpose(0, 1)
    return found if value_bias is None else found + value_bias


def _attend(query: Tensor, keys: Tensor, values: Tensor, span: QuerySpan, scale: float) -> Tensor:
    """Causal attention [num_queries, num_heads, head_dim] over keys and values of all tokens."""
    mask = causal_mask(span, query.device) if span.num_queries > 1 else None
    asked, keys, values = (each.transpose(0, 1)[None] for each in (query, keys, values))
    found = F.scaled_dot_product_attention(
        asked, keys, values, attn_mask=mask, scale=scale, enable_gqa=asked.shape[1] != keys.shape[1]
    )
    return found[0].transpose(0, 1)
