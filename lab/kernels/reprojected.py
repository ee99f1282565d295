"""Attention over X as Apt-Serve does it: keys and values are projected again for all tokens (section 4.2).

To compare with. An engine makes them again for vLLM's own attention, and only where that is cheaper.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from relserve_kernels.pages import PagedX, causal_mask, check_queries, spans
from torch import Tensor

Project = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""Makes keys, rotated where the model rotates them, and values, each [t, kv_heads, head_dim].

It is given the rows' places in their sequence, int64 [t], and the rows of X, [t, d].
"""


def attend_reprojected(
    query: Tensor, query_start: Tensor, x: PagedX, project: Project, scale: float, out: Tensor
) -> None:
    """Causal attention of the batch's tokens over keys and values made again from the cached X.

    Args:
        query: [t, num_heads, head_dim], rotated where the model rotates.
        query_start: int32 [n + 1], the row of each sequence's first query, and their number in all.
        x: where the sequences' rows lie; a sequence's queries are its last tokens, stored already.
        project: makes keys and values of rows of X; their heads divide the queries'.
        scale: of the scores.
        out: [t, num_heads, head_dim], written where there are queries.

    Raises:
        ValueError: a shape or number type differs, or pages do not hold a sequence.
    """
    check_queries(query, query_start, x, out)
    for span in spans(query_start, x):
        rows = x.rows(span.sequence, span.num_tokens)
        keys, values = project(torch.arange(span.num_tokens, device=rows.device), rows)
        own = slice(span.first, span.stop)
        asked, keys, values = (each.transpose(0, 1)[None] for each in (query[own], keys, values))
        mask = causal_mask(span, rows.device) if span.num_queries > 1 else None
        found = F.scaled_dot_product_attention(
            asked, keys, values, attn_mask=mask, scale=scale, enable_gqa=asked.shape[1] != keys.shape[1]
        )
        out[own] = found[0].transpose(0, 1)
