"""What bytes and FLOPs allow on a GPU, a layer and a decode step: `python -m lab.kernels.roofline`.

Prints the bound of each way to attend, and on a machine with a GPU the times measured beside it. bf16;
peaks are NVIDIA's data sheets' (dense), of which a good kernel reaches 85 % of bandwidth and 70 % of FLOPs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import torch
from relserve_kernels.gpu.tiles import Tile
from relserve_kernels.pages import PagedX

BYTES = 2
OF_BANDWIDTH, OF_FLOPS = 0.85, 0.70
ONCE = Tile(32, 256, 8, 1)  # of lab.kernels.once in bf16: the largest for which sm_80 and sm_90 spill nothing
L2_CYCLES, MEMORY_CYCLES = 200, 400  # of a load from either, where nothing else is loaded


class Gpu(NamedTuple):
    """A GPU's peaks, its multiprocessors and their clock."""

    name: str
    bytes_per_s: float
    flops_per_s: float
    multiprocessors: int
    clock_hz: float


class RooflineLayer(NamedTuple):
    """A layer with as many heads of keys as of queries, and a batch of decodes."""

    heads: int
    head_dim: int
    requests: int
    tokens: int

    @property
    def width(self) -> int:
        """d: numbers in a row of X."""
        return self.heads * self.head_dim


class LayerWork(NamedTuple):
    """What one way has to move and to compute."""

    name: str
    num_bytes: int
    flops: int

    def bound_s(self, gpu: Gpu) -> float:
        """The least seconds on a GPU, at the shares of its peaks that a good kernel reaches."""
        return max(
            self.num_bytes / (OF_BANDWIDTH * gpu.bytes_per_s), self.flops / (OF_FLOPS * gpu.flops_per_s)
        )


GPUS = (Gpu("A100-40GB", 1.555e12, 312e12, 108, 1.41e9), Gpu("H100", 3.35e12, 989e12, 132, 1.755e9))
OPT_13B = RooflineLayer(heads=40, head_dim=128, requests=32, tokens=1024)


def works(layer: RooflineLayer) -> tuple[LayerWork, ...]:
    """Every way to attend in one decode step, and the store of its tokens.

    Absorbed reads X twice, once a kernel; the scores between them are float32, and the absorbed queries and
    the weighted sums are as wide as X for every head.
    """
    n, d, heads, cached = layer.requests, layer.width, layer.heads, layer.requests * layer.tokens
    x, weight, between = cached * d * BYTES, d * d * BYTES, n * heads * d * BYTES
    scores = cached * heads * 4
    return (
        LayerWork("keys and values", 2 * x, 4 * cached * d),
        LayerWork("absorbed: projections", 2 * weight + 2 * between, 4 * n * d * d),
        LayerWork("absorbed: scores", x + between + scores, 2 * cached * d * heads),
        LayerWork("absorbed: weighted sums", x + between + scores, 2 * cached * d * heads),
        LayerWork("absorbed: X read once", x + 2 * (between + scores), 4 * cached * d * heads),
        LayerWork("reproject: gather", 2 * x, 0),
        LayerWork("reproject: projections", 3 * x + 2 * weight, 4 * cached * d * d),
        LayerWork("store X", 2 * n * d * BYTES, 0),
        LayerWork("store keys and values", 4 * n * d * BYTES, 0),
    )


def one_read_s(layer: RooflineLayer, gpu: Gpu) -> float:
    """The least seconds of lab.kernels.once: its tiles one after the other, one part a multiprocessor.

    A tile waits for its page and its rows, and then three times for L2: for what it added to the scores, for
    the count of the parts that have, and for the scores of all. Its products are padded to 64 heads.
    """
    columns, heads = -(-layer.width // ONCE.wide), 1 << (layer.heads - 1).bit_length()
    tiles = layer.requests * -(-layer.tokens // ONCE.rows) * columns / gpu.multiprocessors
    waits_s = (4 * L2_CYCLES + MEMORY_CYCLES) / gpu.clock_hz
    flops = 4 * heads * ONCE.rows * ONCE.wide
    return tiles * (waits_s + flops * gpu.multiprocessors / (OF_FLOPS * gpu.flops_per_s))


def measured(layer: RooflineLayer) -> dict[str, float]:
    """Seconds of the Triton kernels on the GPU of this machine, by the name of their work.

    Raises:
        RuntimeError: there is no GPU that torch knows.
    """
    import triton.testing
    from relserve_kernels.gpu import path

    per_page = 64
    pages = layer.requests * layer.tokens // per_page
    pool = torch.randn(pages, per_page, layer.width, device="cuda").bfloat16()
    table = torch.randperm(pages, device="cuda").view(layer.requests, -1).int()
    x = PagedX(pool, table, torch.full((layer.requests,), layer.tokens, device="cuda", dtype=torch.int32))
    owners = torch.arange(layer.requests, device="cuda", dtype=torch.int32)
    asked = torch.randn(layer.requests, layer.heads, layer.width, device="cuda").bfloat16()
    rows, slots = asked[:, 0].contiguous(), owners.long() * per_page
    steps: dict[str, Callable[[], object]] = {
        "absorbed: scores and weighted sums": lambda: path.mix_x(asked, owners, x.seq_lens, x, 0.1),
        "store X": lambda: path.store_x(rows, pool, slots),
    }
    return {name: triton.testing.do_bench(step) / 1e3 for name, step in steps.items()}


def main() -> None:
    """Print the bounds, and what this machine's GPU takes if it has one."""
    layer = OPT_13B
    lines = [f"{layer}, d {layer.width}, bf16, one layer"]
    lines.append(f"{'work':36}{'MB':>10}{'GFLOP':>10}" + "".join(f"{gpu.name + ' us':>16}" for gpu in GPUS))
    for work in works(layer):
        bounds = "".join(f"{1e6 * work.bound_s(gpu):16.1f}" for gpu in GPUS)
        lines.append(f"{work.name:36}{work.num_bytes / 1e6:10.1f}{work.flops / 1e9:10.1f}{bounds}")
    lines.append(
        f"{'X read once, with waits':56}" + "".join(f"{1e6 * one_read_s(layer, g):16.1f}" for g in GPUS)
    )
    if torch.cuda.is_available():
        lines += [f"{name:36}{1e6 * seconds:10.1f} us measured" for name, seconds in measured(layer).items()]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
