"""X in pages: where the rows of each sequence lie, which of its tokens ask, and how a model projects them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class PagedX:
    """The cached inputs of one attention layer for the sequences of one batch.

    Args:
        pool: [num_blocks, tokens_per_block, d]; a page's rows lie one after the other, pages may have gaps.
        block_table: int32 [n, max_blocks], the pages of each sequence; those past its last mean nothing.
        seq_lens: int32 [n], tokens that each sequence holds, this batch's among them; 0 for padding.

    Raises:
        ValueError: a shape or number type differs.
    """

    pool: Tensor
    block_table: Tensor
    seq_lens: Tensor

    def __post_init__(self) -> None:
        if self.pool.dim() != 3 or self.pool.stride(2) != 1 or self.pool.stride(1) != self.pool.shape[2]:
            raise ValueError(
                "pool: expected [num_blocks, tokens_per_block, d] with the rows of a page in a row,"
                f" got shape {list(self.pool.shape)} with strides {list(self.pool.stride())};"
                " view the page's memory as rows of X"
            )
        for name, tensor in (("block_table", self.block_table), ("seq_lens", self.seq_lens)):
            if tensor.dtype != torch.int32:
                raise ValueError(f"{name}: expected int32, got {tensor.dtype}; convert it with .int()")
        if self.block_table.dim() != 2 or self.seq_lens.shape != self.block_table.shape[:1]:
            raise ValueError(
                "block_table and seq_lens: expected [n, max_blocks] and [n], got"
                f" {list(self.block_table.shape)} and {list(self.seq_lens.shape)}"
            )

    @property
    def tokens_per_block(self) -> int:
        """Rows of X in a page."""
        return self.pool.shape[1]

    @property
    def width(self) -> int:
        """The numbers in a row of X: d."""
        return self.pool.shape[2]

    def rows(self, sequence: int, num_tokens: int) -> Tensor:
        """A copy of a sequence's first rows, [num_tokens, d]."""
        num_blocks = -(-num_tokens // self.tokens_per_block)
        pages = self.pool[self.block_table[sequence, :num_blocks].long()]
        return pages.view(-1, self.width)[:num_tokens]


class QuerySpan(NamedTuple):
    """The queries of one sequence: batch rows first to stop, its last tokens of num_tokens."""

    sequence: int
    first: int
    stop: int
    num_tokens: int

    @property
    def num_queries(self) -> int:
        """Tokens that ask."""
        return self.stop - self.first


def spans(query_start: Tensor, x: PagedX) -> Iterator[QuerySpan]:
    """Where each sequence's queries lie in the batch; sequences without queries are left out.

    Args:
        query_start: int32 [n + 1], the batch row of each sequence's first query, and their number in all.

    Raises:
        ValueError: a sequence has more queries than tokens, or more tokens than its pages hold.
    """
    starts, lengths = query_start.tolist(), x.seq_lens.tolist()
    holds = x.block_table.shape[1] * x.tokens_per_block
    for sequence, length in enumerate(lengths):
        span = QuerySpan(sequence, starts[sequence], starts[sequence + 1], length)
        if not 0 <= span.num_queries <= length or length > holds:
            raise ValueError(
                f"sequence {sequence} has {length} tokens and {span.num_queries} queries, and pages for"
                f" {holds} tokens: expected queries <= tokens <= what its pages hold;"
                " check query_start and seq_lens"
            )
        if span.num_queries:
            yield span


def causal_mask(span: QuerySpan, device: torch.device) -> Tensor:
    """Which tokens each query sees, bool [num_queries, num_tokens]: those up to its own."""
    seen = torch.ones(span.num_queries, span.num_tokens, dtype=torch.bool, device=device)
    return seen.tril(span.num_tokens - span.num_queries)


def check_queries(query: Tensor, query_start: Tensor, x: PagedX, out: Tensor) -> None:
    """Hold the tensors of one attention call against each other.

    Raises:
        ValueError: a shape or number type differs.
    """
    if query.dim() != 3 or out.shape != query.shape:
        raise ValueError(
            "query and out: expected [t, num_heads, head_dim] both,"
            f" got {list(query.shape)} and {list(out.shape)}"
        )
    if not query.dtype == out.dtype == x.pool.dtype:
        raise ValueError(
            f"query, out and pool are of {query.dtype}, {out.dtype} and {x.pool.dtype}:"
            " expected one number type"
        )
    num_sequences = x.seq_lens.shape[0]
    if query_start.dtype != torch.int32 or list(query_start.shape) != [num_sequences + 1]:
        raise ValueError(
            f"query_start: expected int32 [{num_sequences + 1}] for {num_sequences} sequences,"
            f" got {query_start.dtype} {list(query_start.shape)}"
        )


def check_weight(name: str, weight: Tensor, query: Tensor, x: PagedX) -> None:
    """Hold an absorbed weight against the queries and X.

    Raises:
        ValueError: its shape or number type differs.
    """
    expected = [x.width, *query.shape[1:]]
    if list(weight.shape) != expected or weight.dtype != query.dtype:
        raise ValueError(
            f"{name}: expected [d, num_heads, head_dim] = {expected} of {query.dtype},"
            f" got {list(weight.shape)} of {weight.dtype}"
        )


class ProjectKeys(Protocol):
    """Keys alone, rotated where the model rotates them."""

    def __call__(self, positions: Tensor, rows: Tensor, /) -> Tensor:
        """Project rows of X, [t, d], to keys, [t, num_heads, head_dim]; positions: int64 [t]."""
