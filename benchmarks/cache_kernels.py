"""One decode step of attention over X in pages, against vLLM's own over twice the bytes of KV.

A layer as OPT's (heads of 64, no positions in the keys), 32 requests of one length, one and two threads.
vLLM's own operators attend over its own paged cache and store to it, with the instructions that its backend
chooses; ours attend over X with both projections absorbed, or reproject keys and values (Apt-Serve). Both
caches hold the same tokens in shuffled pages, and the outputs are compared. Sides take turns: medians of
their times, and of the ratios turn by turn. Reprojecting takes seconds and is timed once. A step of a model
does this once a layer.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from relserve_kernels.absorbed import attend_absorbed
from relserve_kernels.cpu import build
from relserve_kernels.cpu.instructions import instructions, multiplies
from relserve_kernels.pages import PagedX
from relserve_kernels.store import store_x
from torch import Tensor

from benchmarks.claims import Exact, Lower, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.plots import bars
from lab.kernels.reprojected import attend_reprojected

ROOMS = ("kernels/relserve_kernels", "lab/kernels/reprojected.py")
HEADLINE = {
    "absorbed_over_kv": Lower(0.4, by_cpu=True), "absorbed_over_kv_median": Lower(0.3, by_cpu=True),
    "absorbed_over_kv_bfloat16": Untold("the same as absorbed_over_kv"),
    "absorbed_over_kv_float32": Untold("in full runs"), "store_over_kv": Lower(0.6, by_cpu=True),
    "bytes_over_kv": Exact(0.5), "compiled": Untold("this machine's compiler"),
    "instructions": Untold("this machine's"),
}  # fmt: skip

REQUESTS, HEAD_DIM, BLOCK = 32, 64, 32
WIDTHS, LENGTHS, THREADS = (512, 1024), (256, 1024, 2048), (1, 2)
MOST_TURNS, FEWEST_TURNS, TURNS_S = 15, 5, 2.0
SCALE = HEAD_DIM**-0.5

Step = Callable[[], object]


class KernelCase(NamedTuple):
    """What one line of the table is measured on."""

    dtype: torch.dtype
    width: int
    length: int

    def name(self, threads: int) -> str:
        """As the plot says it."""
        return f"{str(self.dtype)[6:]}, d {self.width}, {self.length} tokens, threads {threads}"


@dataclass
class CachedLayer:
    """A layer's weights and the two caches of one batch, full of the same tokens."""

    case: KernelCase
    query: Tensor
    rows: Tensor
    wk: Tensor
    wv: Tensor
    value_bias: Tensor
    x: PagedX
    kv: Tensor
    table: Tensor
    held: tuple[Tensor, ...] | None = None

    @property
    def starts(self) -> Tensor:
        """One query a request."""
        return torch.arange(REQUESTS + 1, dtype=torch.int32)

    def project(self, positions: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values, by the two rows of weights; in float32 where the CPU has no shorter products."""
        wide = self.case.dtype if multiplies(self.case.dtype) else torch.float32
        if self.held is None:
            self.held = tuple(w.permute(1, 2, 0).flatten(0, 1).to(wide) for w in (self.wk, self.wv))
        keys, values = (F.linear(rows.to(wide), w).view(-1, *self.wk.shape[1:]) for w in self.held)
        return keys.to(rows.dtype), (values + self.value_bias).to(rows.dtype)


class VllmAttention:
    """vLLM's operators on its paged cache, as its CPU backend calls them."""

    def __init__(self, layer: CachedLayer) -> None:
        from vllm import _custom_ops as ops
        from vllm.v1.attention.backends.cpu_attn import _get_attn_isa

        self._ops, self._layer = ops, layer
        num_blocks, heads, block, _ = layer.kv.shape
        self._keys, self._values = layer.kv.view(num_blocks, heads, 2 * block, -1).chunk(2, dim=2)
        self.isa = _get_attn_isa(layer.case.dtype, BLOCK, HEAD_DIM)
        self._plan = ops.cpu_attn_get_scheduler_metadata(
            num_reqs=REQUESTS, num_heads=heads, num_kv_heads=heads, head_dim=HEAD_DIM,
            seq_lens=layer.x.seq_lens, dtype=layer.case.dtype, query_start_loc=layer.starts, causal=True,
            sliding_window_size=-1, isa=self.isa, enable_kv_split=True,
        )  # fmt: skip

    def store(self, keys: Tensor, values: Tensor, slots: Tensor) -> None:
        """Write keys and values of tokens."""
        self._ops.cpu_attn_reshape_and_cache(keys, values, self._keys, self._values, slots, self.isa)

    def attend(self, out: Tensor) -> None:
        """One decode step."""
        layer = self._layer
        self._ops.cpu_attention_with_kv_cache(
            query=layer.query, key_cache=self._keys, value_cache=self._values, output=out,
            query_start_loc=layer.starts, seq_lens=layer.x.seq_lens, scale=SCALE, causal=True,
            alibi_slopes=None, sliding_window=-1, block_table=layer.table, softcap=0.0,
            scheduler_metadata=self._plan, s_aux=None,
        )  # fmt: skip


def layer_of(case: KernelCase) -> CachedLayer:
    """A made-up layer whose caches are empty."""
    made = torch.Generator().manual_seed(0)
    heads, num_tokens = case.width // HEAD_DIM, REQUESTS * case.length

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=made).to(case.dtype)

    weights = [normal(heads, HEAD_DIM, case.width) / case.width**0.5 for _ in range(2)]  # as a model's lie
    wk, wv = (weight.permute(2, 0, 1) for weight in weights)
    lengths = torch.full((REQUESTS,), case.length, dtype=torch.int32)
    table = torch.randperm(num_tokens // BLOCK, generator=made).view(REQUESTS, -1).int()
    pages = torch.randperm(num_tokens // (2 * BLOCK), generator=made).view(REQUESTS, -1).int()
    pool = torch.zeros(num_tokens // (2 * BLOCK), 2 * BLOCK, case.width, dtype=case.dtype)
    kv = torch.zeros(num_tokens // BLOCK, heads, BLOCK, 2 * HEAD_DIM, dtype=case.dtype)
    query, rows = normal(REQUESTS, heads, HEAD_DIM), normal(num_tokens, case.width)
    bias = normal(heads, HEAD_DIM)
    return CachedLayer(case, query, rows, wk, wv, bias, PagedX(pool, pages, lengths), kv, table)


def slots_of(pages: Tensor, tokens_per_block: int, length: int) -> Tensor:
    """Where each token of each request lies, [n * length]."""
    places = torch.arange(length)
    return (
        pages.long()[:, places // tokens_per_block] * tokens_per_block + places % tokens_per_block
    ).flatten()


def in_turns(sides: dict[str, Step]) -> dict[str, list[float]]:
    """Milliseconds of each side, turn by turn; which goes first changes."""
    for step in sides.values():
        step()
    taken: dict[str, list[float]] = {name: [] for name in sides}
    until = time.perf_counter() + TURNS_S
    for turn in range(MOST_TURNS):
        if turn >= FEWEST_TURNS and time.perf_counter() > until:
            break
        for name, step in list(sides.items())[:: 1 - 2 * (turn % 2)]:
            taken[name].append(timed(step))
    return taken


def timed(step: Step) -> float:
    """Milliseconds of one turn."""
    began = time.perf_counter()
    step()
    return 1e3 * (time.perf_counter() - began)


def ratio(taken: dict[str, list[float]], ours: str, theirs: str) -> float:
    """The median over the turns."""
    return statistics.median(a / b for a, b in zip(taken[ours], taken[theirs], strict=True))


class Filled(NamedTuple):
    """A layer whose caches hold its tokens, and what this step's tokens write: keys, values and their slots,
    X and its slots.
    """

    layer: CachedLayer
    theirs: VllmAttention
    new_kv: tuple[Tensor, Tensor, Tensor]
    new_x: tuple[Tensor, Tensor]


def filled(case: KernelCase) -> Filled:
    """Both caches full of the same tokens."""
    torch.set_num_threads(max(THREADS))
    layer = layer_of(case)
    theirs, x = VllmAttention(layer), layer.x
    keys, values = layer.project(torch.empty(0), layer.rows)
    slots = slots_of(layer.table, BLOCK, case.length)
    x_slots = slots_of(x.block_table, 2 * BLOCK, case.length)
    theirs.store(keys, values, slots)
    store_x(layer.rows, x.pool, x_slots)
    last = slice(case.length - 1, None, case.length)  # the tokens of this step
    keys, values, slots, rows, x_slots = (
        each[last].contiguous() for each in (keys, values, slots, layer.rows, x_slots)
    )
    return Filled(layer, theirs, (keys, values, slots), (rows, x_slots))


def measure(made: Filled, threads: int) -> dict[str, Any]:
    """One line of the table."""
    torch.set_num_threads(threads)
    layer, theirs, x = made.layer, VllmAttention(made.layer), made.layer.x
    outs = [torch.full_like(layer.query, float("nan")) for _ in range(3)]
    ours = (layer.query, layer.starts, x)
    absorbed = partial(attend_absorbed, *ours, layer.wk, layer.wv, layer.value_bias, SCALE, outs[0])
    taken = in_turns({"absorbed": absorbed, "kv": partial(theirs.attend, outs[1])})
    taken["reproject"] = [timed(partial(attend_reprojected, *ours, layer.project, SCALE, outs[2]))]
    stores = {
        "store_kv": partial(theirs.store, *made.new_kv),
        "store_x": partial(store_x, made.new_x[0], x.pool, made.new_x[1]),
    }
    taken |= in_turns({name: partial(many, step) for name, step in stores.items()})
    medians = {f"{name}_ms": statistics.median(times) for name, times in taken.items()}
    return {
        "case": layer.case.name(threads), "vllm_isa": theirs.isa, **medians,
        "store_kv_ms": medians["store_kv_ms"] / MANY, "store_x_ms": medians["store_x_ms"] / MANY,
        "absorbed_over_kv": ratio(taken, "absorbed", "kv"),
        "store_over_kv": ratio(taken, "store_x", "store_kv"),
        "bytes_over_kv": x.pool.nbytes / layer.kv.nbytes,
        "differs_by": max(float((out - outs[1]).abs().max()) for out in (outs[0], outs[2])),
    }  # fmt: skip


MANY = 100


def many(step: Step) -> None:
    """A step that takes microseconds, often enough to be timed."""
    for _ in range(MANY):
        step()


def ready() -> None:
    """Load vLLM's operators and have the tiles of AMX, which vLLM's own use and do not ask for."""
    from vllm.platforms import current_platform

    current_platform.import_kernels()
    torch.cpu._init_amx()
    torch.manual_seed(0)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """The ratios as bars, with a tick at equal times."""
    values = {row["case"]: row["absorbed_over_kv"] for row in rows}
    bars(
        path,
        values,
        "time of absorbed attention over X, as a multiple of vLLM's over KV",
        dict.fromkeys(values, 1),
    )


def main() -> None:
    """Print the table and the headline."""
    args = arguments(__doc__ or "").parse_args()
    ready()
    lengths, dtypes = (
        (LENGTHS[:1], [torch.bfloat16]) if args.quick else (LENGTHS, [torch.bfloat16, torch.float32])
    )
    cases = [KernelCase(dtype, width, length) for dtype in dtypes for width in WIDTHS for length in lengths]
    rows = []
    for number, case in enumerate(cases):
        sys.stderr.write(
            f"{number + 1} of {len(cases)}: {str(case.dtype)[6:]}, d {case.width}, {case.length} tokens\n"
        )
        made = filled(case)
        for threads in THREADS:
            rows.append(measure(made, threads))
            found = rows[-1]
            sys.stderr.write(
                f"    threads {threads}: absorbed {found['absorbed_ms']:.1f} ms, keys and values"
                f" {found['kv_ms']:.1f} ms, reproject {found['reproject_ms']:.0f} ms\n"
            )
    print("this CPU has " + (", ".join(instructions()) or "none of AVX2, AVX-512 and AMX"))
    print(table(list(rows[0]), [list(row.values()) for row in rows]))
    shares = {
        dtype: [row["absorbed_over_kv"] for row in rows if row["case"].startswith(str(dtype)[6:])]
        for dtype in dtypes
    }
    held = shares[torch.bfloat16]
    headline = {
        "absorbed_over_kv": round(max(held), 2),
        "absorbed_over_kv_median": round(statistics.median(held), 2),
        **{f"absorbed_over_kv_{str(dtype)[6:]}": round(max(each), 2) for dtype, each in shares.items()},
        "store_over_kv": round(max(row["store_over_kv"] for row in rows), 2),
        "bytes_over_kv": max(row["bytes_over_kv"] for row in rows),
        "compiled": build.load(),
        "instructions": instructions(),
    }
    finish("cache_kernels", headline, {"rows": rows}, args.quick, partial(draw, rows))


if __name__ == "__main__":
    main()
