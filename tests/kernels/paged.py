"""Made-up batches over paged X, with NaN in every place that nobody may read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tests.modules import later

torch = later("torch")
pages = later("relserve_kernels.pages")

TOLERANCE = {"torch.float32": 1e-5, "torch.float16": 5e-3, "torch.bfloat16": 2e-2}


class Batch(NamedTuple):
    """One attention call: the pages hold `texts`, each [num_tokens, d]."""

    x: pages.PagedX
    texts: list[torch.Tensor]
    query: torch.Tensor
    query_start: torch.Tensor
    wk: torch.Tensor
    wv: torch.Tensor
    value_bias: torch.Tensor

    @property
    def scale(self) -> float:
        return float(self.query.shape[2]) ** -0.5

    def poisoned(self) -> torch.Tensor:
        """An output of NaN."""
        return torch.full_like(self.query, float("nan"))


def batch_of(
    lengths: Sequence[tuple[int, int]],
    dtype: str,
    *,
    num_heads: int = 3,
    head_dim: int = 16,
    width: int = 48,
    tokens_per_block: int = 8,
    gap: int = 0,
) -> Batch:
    """A batch in pages of shuffled order.

    Args:
        lengths: of each sequence, how many of its tokens ask and how many it has.
        dtype: of X, queries and weights, as torch calls it.
        num_heads: of the queries.
        head_dim: of a head.
        width: of a row of X.
        tokens_per_block: rows in a page.
        gap: numbers between two pages that belong to neither.
    """
    made, kind = torch.Generator().manual_seed(7), getattr(torch, dtype)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=made).to(kind)

    pages_of = [-(-num_tokens // tokens_per_block) for _, num_tokens in lengths]
    num_blocks = sum(pages_of) + 3
    page = tokens_per_block * width
    memory = torch.full((num_blocks, page + gap), float("nan"), dtype=kind)
    pool = memory[:, :page].view(num_blocks, tokens_per_block, width)
    order = torch.randperm(num_blocks, generator=made).int()
    table = torch.full((len(lengths), max(pages_of) + 1), num_blocks + 9, dtype=torch.int32)
    texts = []
    for row, ((_, num_tokens), count) in enumerate(zip(lengths, pages_of, strict=True)):
        table[row, :count], order = order[:count], order[count:]
        texts.append(normal(num_tokens, width))
        for place in range(num_tokens):
            pool[table[row, place // tokens_per_block], place % tokens_per_block] = texts[-1][place]
    starts = torch.tensor([0, *(num_queries for num_queries, _ in lengths)]).cumsum(0).int()
    x = pages.PagedX(pool, table, torch.tensor([num_tokens for _, num_tokens in lengths]).int())
    wk, wv = (normal(width, num_heads, head_dim) / width**0.5 for _ in range(2))
    query = normal(int(starts[-1]), num_heads, head_dim)
    return Batch(x, texts, query, starts, wk, wv, normal(num_heads, head_dim))


def assert_near(found: torch.Tensor, expected: torch.Tensor) -> None:
    """Equal within the one tolerance of the number type, and no NaN."""
    bound = TOLERANCE[str(found.dtype)]
    torch.testing.assert_close(found.float(), expected.float(), rtol=bound, atol=bound)
