"""The Triton kernels: storing X, scores of absorbed queries, their softmax, weighted sums of X, gathering X.

Their grids follow from shapes alone, not from lengths: a CUDA graph can capture them, and programs past a
sequence's last token end at once. Importing this module imports Triton.
"""

# mypy: ignore-errors
# Triton reads the annotations of a kernel's arguments, so they are no strings here.
import triton
import triton.language as tl


@triton.jit
def store_rows(x, pool, slots, x_stride, page_stride, per_page, width, WIDE: tl.constexpr):
    """Row t of x to its slot; a negative slot is none. Grid: [t, width / WIDE]."""
    slot = tl.load(slots + tl.program_id(0))
    if slot >= 0:
        column = tl.program_id(1) * WIDE + tl.arange(0, WIDE)
        row = tl.load(x + tl.program_id(0) * x_stride + column, mask=column < width)
        to = pool + (slot // per_page) * page_stride + (slot % per_page) * width + column
        tl.store(to, row, mask=column < width)


@triton.jit
def gather_rows(
    pool, table, lengths, starts, rows, page_stride, table_stride, per_page, width, WIDE: tl.constexpr
):
    """A sequence's rows of X to rows starts[n] and on. Grid: [most tokens, n, width / WIDE]."""
    token, sequence = tl.program_id(0), tl.program_id(1)
    if token < tl.load(lengths + sequence):
        column = tl.program_id(2) * WIDE + tl.arange(0, WIDE)
        page = tl.load(table + sequence * table_stride + token // per_page).to(tl.int64)
        row = tl.load(pool + page * page_stride + (token % per_page) * width + column, mask=column < width)
        to = tl.load(starts + sequence).to(tl.int64) + token
        tl.store(rows + to * width + column, row, mask=column < width)


@triton.jit
def scores_of_x(
    asked, pool, table, owners, seen, scores, page_stride, table_stride, per_page, width, heads, most, scale,
    HEADS: tl.constexpr, ROWS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """scores[query, head, token] = scale * X[token] . asked[query, head]. Grid: [queries, most / ROWS].

    A query sees the first seen[query] tokens of sequence owners[query]; scores past them are not written.
    """
    query, block = tl.program_id(0), tl.program_id(1)
    length = tl.load(seen + query)
    if block * ROWS < length:
        token = block * ROWS + tl.arange(0, ROWS)
        head = tl.arange(0, HEADS)
        page = tl.load(
            table + tl.load(owners + query) * table_stride + token // per_page, mask=token < length, other=0
        )
        row = page.to(tl.int64) * page_stride + (token % per_page) * width
        found = tl.zeros((ROWS, HEADS), tl.float32)
        for first in range(0, width, WIDE):
            column = first + tl.arange(0, WIDE)
            inside = (token[:, None] < length) & (column[None, :] < width)
            x = tl.load(pool + row[:, None] + column[None, :], mask=inside, other=0.0)
            wanted = (column[:, None] < width) & (head[None, :] < heads)
            q = tl.load(
                asked + (query * heads + head[None, :]) * width + column[:, None], mask=wanted, other=0.0
            )
            found = tl.dot(x, q, found, input_precision="ieee")
        to = scores + (query * heads + head[None, :]).to(tl.int64) * most + token[:, None]
        tl.store(to, found * scale, mask=(token[:, None] < length) & (head[None, :] < heads))


@triton.jit
def shares_of_scores(scores, shares, seen, heads, most, WIDE: tl.constexpr):
    """shares[query, head] = softmax(scores[query, head]), 0 past seen[query]. Grid: [queries, heads].

    Shares of a query that sees nothing are not written.
    """
    length = tl.load(seen + tl.program_id(0))
    if length > 0:
        row = (tl.program_id(0) * heads + tl.program_id(1)).to(tl.int64) * most
        place = tl.arange(0, WIDE)
        greatest = tl.full((WIDE,), float("-inf"), tl.float32)
        for first in range(0, length, WIDE):
            token = first + place
            score = tl.load(scores + row + token, mask=token < length, other=float("-inf"))
            greatest = tl.maximum(greatest, score)
        top = tl.max(greatest, 0)
        total = tl.zeros((WIDE,), tl.float32)
        for first in range(0, length, WIDE):
            token = first + place
            score = tl.load(scores + row + token, mask=token < length, other=float("-inf"))
            total += tl.exp(score - top)
        part = 1.0 / tl.sum(total, 0)
        for first in range(0, most, WIDE):
            token = first + place
            score = tl.load(scores + row + token, mask=token < length, other=float("-inf"))
            share = tl.where(token < length, tl.exp(score - top) * part, 0.0)
            tl.store(shares + row + token, share, mask=token < most)


@triton.jit
def sums_of_x(
    shares, pool, table, owners, seen, mixed, page_stride, table_stride, per_page, width, heads, most,
    HEADS: tl.constexpr, ROWS: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """mixed[query, head] = shares[query, head] X, columns split. Grid: [queries, width / WIDE].

    Queries are taken from the last one on: their X is what `scores_of_x` has left in the GPU's cache.
    """
    query = tl.num_programs(0) - 1 - tl.program_id(0)
    length = tl.load(seen + query)
    head = tl.arange(0, HEADS)
    column = tl.program_id(1) * WIDE + tl.arange(0, WIDE)
    mix = tl.zeros((HEADS, WIDE), tl.float32)
    pages = table + tl.load(owners + query) * table_stride
    at = shares + (query * heads + head[:, None]).to(tl.int64) * most
    place = tl.arange(0, ROWS)
    page = tl.load(pages + place // per_page, mask=place < length, other=0)
    for first in range(0, length, ROWS):  # the next tile's pages are read ahead, so that loads of X overlap
        token = first + place
        known = (token[None, :] < length) & (head[:, None] < heads)
        share = tl.load(at + token[None, :], mask=known, other=0.0)
        row = page.to(tl.int64) * page_stride + (token % per_page) * width
        inside = (token[:, None] < length) & (column[None, :] < width)
        x = tl.load(pool + row[:, None] + column[None, :], mask=inside, other=0.0)
        mix = tl.dot(share, x, mix, input_precision="ieee")
        page = tl.load(pages + (token + ROWS) // per_page, mask=token + ROWS < length, other=0)
    if length > 0:
        to = mixed + (query * heads + head[:, None]) * width + column[None, :]
        tl.store(to, mix, mask=(head[:, None] < heads) & (column[None, :] < width))
