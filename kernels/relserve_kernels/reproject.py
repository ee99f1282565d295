"""Attention over X as Apt-Serve does it: keys and values are projected again for all tokens (section 4.2)."""

from __future__ import annotations

import torch
from torch import Tensor

from relserve_kernels.dispatch import path_for
from relserve_kernels.pages import PagedX, Project, check_queries


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
    path_for(query.device).attend_reprojected(query, query_start, x, project, scale, out)


def keys_and_values(x: PagedX, sequence: int, num_tokens: int, project: Project) -> tuple[Tensor, Tensor]:
    """A sequence's keys and values from its X: what a switch to a KV cache writes without another prefill.

    Args:
        x: where the rows lie.
        sequence: its place in the batch.
        num_tokens: how many of its first tokens.
        project: makes keys and values.

    Returns:
        Keys and values, each [num_tokens, kv_heads, head_dim].
    """
    return project(torch.arange(num_tokens, device=x.pool.device), x.rows(sequence, num_tokens))
