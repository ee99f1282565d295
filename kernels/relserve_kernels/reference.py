"""The truth that every path is held against: plain torch in float32, one sequence after the other."""

from __future__ import annotations

import torch
from torch import Tensor

from relserve_kernels.pages import PagedX, ProjectKeys, QuerySpan, causal_mask, spans


def store_x(x: Tensor, pool: Tensor, slots: Tensor) -> None:
    """Write each row of x where its slot says; see store.store_x."""
    for row, slot in zip(x, slots.tolist(), strict=True):
        if slot >= 0:
            pool[slot // pool.shape[1], slot % pool.shape[1]] = row


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
    """Scores are X (Wk q), the output is (sum p x) Wv; see absorbed.attend_absorbed."""
    for span in spans(query_start, x):
        rows = x.rows(span.sequence, span.num_tokens).float()
        asked = torch.einsum("mhe,dhe->mhd", query[span.first : span.stop].float(), wk.float())
        scores = torch.einsum("mhd,nd->mhn", asked, rows) * scale
        out[span.first : span.stop] = _values_of(scores, rows, span, wv, value_bias).to(out.dtype)


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
    """Keys are projected again, values are absorbed; see absorbed.attend_value_absorbed."""
    for span in spans(query_start, x):
        rows = x.rows(span.sequence, span.num_tokens)
        keys = project_keys(torch.arange(span.num_tokens, device=rows.device), rows).float()
        scores = torch.einsum("mhe,nhe->mhn", query[span.first : span.stop].float(), keys) * scale
        out[span.first : span.stop] = _values_of(scores, rows.float(), span, wv, value_bias).to(out.dtype)


def _values_of(
    scores: Tensor, rows: Tensor, span: QuerySpan, wv: Tensor, value_bias: Tensor | None
) -> Tensor:
    mixed = torch.einsum("mhn,nd->mhd", _shares(scores, span), rows)
    found = torch.einsum("mhd,dhe->mhe", mixed, wv.float())
    return found if value_bias is None else found + value_bias.float()


def _shares(scores: Tensor, span: QuerySpan) -> Tensor:
    unseen = ~causal_mask(span, scores.device)
    return scores.masked_fill(unseen[:, None], float("-inf")).softmax(-1)
