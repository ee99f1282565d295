"""Attention over X with projections absorbed: keys and values are never made.

The scores of head h are X (Wk_h q_h), its output is (sum p x) Wv_h. Exact where K has no rotary position, as
in OPT; a bias of the keys shifts all scores of a query alike, which softmax drops, and one of the values is
added at the end. Where keys are rotated, the values alone are absorbed.
"""

from __future__ import annotations

from torch import Tensor

from relserve_kernels.dispatch import Path, path_for
from relserve_kernels.pages import PagedX, ProjectKeys, check_queries, check_weight


def attend_absorbed(
    query: Tensor,
    query_start: Tensor,
    x: PagedX,
    wk: Tensor,
    wv: Tensor,
    value_bias: Tensor | None,
    scale: float,
    out: Tensor,
    path: Path | None = None,
) -> None:
    """Causal attention of the batch's tokens over the cached X, keys and values absorbed.

    Args:
        query: [t, num_heads, head_dim], projected and with its bias.
        query_start: int32 [n + 1], the row of each sequence's first query, and their number in all.
        x: where the sequences' rows lie; a sequence's queries are its last tokens, stored already.
        wk: [d, num_heads, head_dim], any strides: a view of the model's weight will do.
        wv: as wk.
        value_bias: [num_heads, head_dim] or None.
        scale: of the scores.
        out: [t, num_heads, head_dim], written where there are queries.
        path: whose kernels; None: those of the device.

    Raises:
        ValueError: a shape or number type differs, or pages do not hold a sequence.
    """
    check_queries(query, query_start, x, out)
    check_weight("wk", wk, query, x)
    check_weight("wv", wv, query, x)
    (path or path_for(query.device)).attend_absorbed(query, query_start, x, wk, wv, value_bias, scale, out)


def attend_value_absorbed(
    query: Tensor,
    query_start: Tensor,
    x: PagedX,
    project_keys: ProjectKeys,
    wv: Tensor,
    value_bias: Tensor | None,
    scale: float,
    out: Tensor,
    path: Path | None = None,
) -> None:
    """Causal attention over the cached X: keys projected again and rotated, values absorbed.

    Args:
        query: [t, num_heads, head_dim], rotated.
        query_start: int32 [n + 1], the row of each sequence's first query, and their number in all.
        x: where the sequences' rows lie; a sequence's queries are its last tokens, stored already.
        project_keys: makes and rotates the keys.
        wv: [d, num_heads, head_dim], any strides.
        value_bias: [num_heads, head_dim] or None.
        scale: of the scores.
        out: [t, num_heads, head_dim], written where there are queries.
        path: whose kernels; None: those of the device.

    Raises:
        ValueError: a shape or number type differs, or pages do not hold a sequence.
    """
    check_queries(query, query_start, x, out)
    check_weight("wv", wv, query, x)
    (path or path_for(query.device)).attend_value_absorbed(
        query, query_start, x, project_keys, wv, value_bias, scale, out
    )
