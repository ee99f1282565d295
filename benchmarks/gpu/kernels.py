"""The hidden cache's Triton kernels on this machine's GPU: right, and how near to what bytes and FLOPs allow.

A decode step of one layer of OPT-13B (40 heads of 128), 32 requests, bf16, over 256, 1,024 and 2,048 tokens
each in shuffled pages of 16 rows. What the kernels find is held against the reference in float32. Times are
medians of Triton's `do_bench`, of a CUDA graph's replay for the whole of the attention. Beside them stands
FlashAttention 3 as vLLM calls it over its own paged keys and values, where vLLM is installed. `--sweep` tries
other tiles at 1,024 tokens first, one kernel after the other, and measures with the best. `--once` measures,
last, the lab's kernel that reads X once, whose programs wait for one another: no GPU has run it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from relserve_kernels import reference
from relserve_kernels.gpu import path
from relserve_kernels.gpu.tiles import Tile, Tiles, tiles_of
from relserve_kernels.pages import PagedX
from torch import Tensor
from triton.testing import do_bench, do_bench_cudagraph

from benchmarks.common import table
from lab.kernels import once

REQUESTS, HEADS, HEAD_DIM, BLOCK = 32, 40, 128, 16
WIDTH = HEADS * HEAD_DIM
TOLERANCE = 2e-2  # of the norm of what the reference finds, in bf16
SWEPT_TOKENS = 1024
SCORES = [
    Tile(*t) for t in ((64, 128, 4, 3), (64, 128, 8, 3), (128, 64, 8, 3), (128, 64, 8, 4), (128, 128, 8, 3))
]
SUMS = [
    Tile(*t)
    for t in (
        (64, 64, 4, 3),
        (64, 64, 4, 5),
        (64, 128, 8, 4),
        (64, 256, 8, 3),
        (128, 128, 8, 3),
        (32, 256, 8, 4),
    )
]  # beside those of `tiles_of`


class GpuLayer:
    """A layer's weights, and caches of one batch in which every request holds so many tokens."""

    def __init__(self, tokens: int) -> None:
        def normal(*shape: int, times: float = 1.0) -> Tensor:
            return (torch.randn(*shape, device="cuda") * times).bfloat16()

        self.tokens, pages = tokens, REQUESTS * tokens // BLOCK
        self.x = PagedX(
            normal(pages, BLOCK, WIDTH), torch.randperm(pages, device="cuda").view(REQUESTS, -1).int(),
            torch.full((REQUESTS,), tokens, device="cuda", dtype=torch.int32),
        )  # fmt: skip
        self.query = normal(REQUESTS, HEADS, HEAD_DIM)
        self.starts = torch.arange(REQUESTS + 1, device="cuda", dtype=torch.int32)
        weights = [normal(WIDTH, WIDTH, times=WIDTH**-0.5) for _ in range(2)]
        self.wk, self.wv = (w.view(HEADS, HEAD_DIM, WIDTH).permute(2, 0, 1) for w in weights)
        self.bias = normal(HEADS, HEAD_DIM)
        self.kv = normal(2, pages, BLOCK, HEADS, HEAD_DIM)

    def attend(self, way: Any, out: Tensor) -> None:
        """Attend over X by the kernels or the reference."""
        way.attend_absorbed(self.query, self.starts, self.x, self.wk, self.wv, self.bias, HEAD_DIM**-0.5, out)

    def error(self) -> float:
        """The kernels' distance from the reference, by the reference's norm."""
        found, expected = (torch.full_like(self.query, float("nan")) for _ in range(2))
        self.attend(path, found)
        self.attend(reference, expected)
        return float((found.float() - expected.float()).norm() / expected.float().norm())

    def over_keys_and_values(self) -> Callable[[], object] | None:
        """vLLM's attention over keys and values; None without vLLM."""
        try:
            from vllm.vllm_flash_attn import flash_attn_varlen_func
        except ImportError:
            return None
        return lambda: flash_attn_varlen_func(
            q=self.query, k=self.kv[0], v=self.kv[1], max_seqlen_q=1, cu_seqlens_q=self.starts,
            max_seqlen_k=self.tokens, seqused_k=self.x.seq_lens, block_table=self.x.block_table,
            softmax_scale=HEAD_DIM**-0.5, causal=True, fa_version=3,
        )  # fmt: skip


def swept() -> tuple[Tiles, list[dict[str, Any]]]:
    """The tiles with which scores and sums take least at one length, and what each took."""
    layer = GpuLayer(SWEPT_TOKENS)
    owners, seen = path.owners_and_seen(REQUESTS, layer.starts, layer.x)
    asked = torch.randn(REQUESTS, HEADS, WIDTH, device="cuda").bfloat16()
    best, told = tiles_of(HEADS, torch.bfloat16), []
    least_us = float("inf")
    for kernel, tried in (("scores", [best.scores, *SCORES]), ("sums", SUMS)):
        for tile in tried:
            tiles = best._replace(**{kernel: tile})
            took_us = 1e3 * do_bench(
                lambda tiles=tiles: path.mix_x(asked, owners, seen, layer.x, HEAD_DIM**-0.5, tiles),
                return_mode="median",
            )  # fmt: skip
            told.append({"kernel": kernel, **tile._asdict(), "us": took_us})
            print(told[-1], flush=True)
            if took_us < least_us:
                least_us, best = took_us, tiles
    return best, told


def measured(tokens: int, tiles: Tiles) -> dict[str, Any]:
    """Errors and microseconds at one length."""
    layer = GpuLayer(tokens)
    out = torch.empty_like(layer.query)
    owners, seen = path.owners_and_seen(REQUESTS, layer.starts, layer.x)
    asked = torch.randn(REQUESTS, HEADS, WIDTH, device="cuda").bfloat16()
    rows, slots = layer.query.view(REQUESTS, WIDTH), torch.arange(REQUESTS, device="cuda") * BLOCK
    found: dict[str, Any] = {"tokens": tokens, "error": layer.error()}
    assert found["error"] < TOLERANCE, found
    steps: dict[str, Callable[[], object]] = {
        "scores and sums": lambda: path.mix_x(asked, owners, seen, layer.x, HEAD_DIM**-0.5, tiles),
        "store X": lambda: path.store_x(rows, layer.x.pool, slots),
    }
    found |= {name: 1e3 * do_bench(step, return_mode="median") for name, step in steps.items()}
    found["absorbed, graph"] = 1e3 * do_bench_cudagraph(lambda: layer.attend(path, out), return_mode="median")
    stock = layer.over_keys_and_values()
    if stock is not None:
        found["keys and values, graph"] = 1e3 * do_bench_cudagraph(stock, return_mode="median")
    moved = REQUESTS * tokens * WIDTH * 2
    found["X once, TB/s"] = moved / found["scores and sums"] / 1e6
    return found


def read_once(tokens: int) -> dict[str, Any]:
    """The lab's kernel beside the product's: its distance from what they find, and microseconds."""
    layer = GpuLayer(tokens)
    owners, seen = path.owners_and_seen(REQUESTS, layer.starts, layer.x)
    asked = torch.randn(REQUESTS, HEADS, WIDTH, device="cuda").bfloat16()
    given = asked, owners, seen, layer.x, HEAD_DIM**-0.5
    found, expected = once.mix_x(*given).float(), path.mix_x(*given).float()
    error = float((found - expected).norm() / expected.norm())
    took_us = 1e3 * do_bench(lambda: once.mix_x(*given), return_mode="median")
    return {"tokens": tokens, "error": error, "scores and sums": took_us}


def copy_tb_s() -> float:
    """The bandwidth of a large copy, bytes read and written."""
    a, b = (torch.empty(2**30, dtype=torch.int8, device="cuda") for _ in range(2))
    return float(2 * 2**30 / do_bench(lambda: b.copy_(a), return_mode="median") / 1e9)


def main() -> None:
    """Print the table and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of the result file")
    parser.add_argument("--sweep", action="store_true", help="try other tiles")
    parser.add_argument("--once", action="store_true", help="the kernel that reads X once, too")
    args = parser.parse_args()
    torch.manual_seed(0)
    tiles, tried = swept() if args.sweep else (tiles_of(HEADS, torch.bfloat16), [])
    path.tiles_of = lambda *_: tiles  # of the whole of the attention, too
    lines = [measured(tokens, tiles) for tokens in (256, 1024, 2048)]
    columns = list(lines[0])
    print(table(["us at", *columns[1:]], [list(line.values()) for line in lines]))
    told = {
        "device": torch.cuda.get_device_name(),
        "copy_tb_s": copy_tb_s(),
        "tiles": str(tiles),
        "swept": tried,
    }
    told["lengths"] = lines
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "kernels.json").write_text(json.dumps(told), encoding="utf-8")
    if args.once:
        print(json.dumps([read_once(tokens) for tokens in (256, 1024, 2048)]), flush=True)
    print(json.dumps({"device": told["device"], "copy_tb_s": round(told["copy_tb_s"], 2)}), flush=True)


if __name__ == "__main__":
    main()
