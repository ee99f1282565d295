"""Compiling the Triton kernels ahead for GPUs that are not here: `python -m lab.kernels.ahead`.

Shows for each kernel, number type, heads and architecture the registers of a thread, what ptxas had to spill,
and the shared memory of a program.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from relserve_kernels.gpu.tiles import GATHER_WIDE, SHARE_WARPS, SHARE_WIDE, STORE_WIDE, tiles_of

from lab.kernels.roofline import OPT_13B

SHARED_LIMIT_BYTES = {
    80: 163 * 1024,
    90: 227 * 1024,
}  # of a program (CUDA programming guide)
NAMES = {torch.bfloat16: "bf16", torch.float32: "fp32"}
HEADS = (8, 16, 40)  # 40: OPT-13B

_STRIDES = {"page_stride": "i64", "table_stride": "i64", "per_page": "i32", "width": "i32"}


def compiled() -> Iterator[dict[str, Any]]:
    """What compiling every kernel tells, one after the other."""
    from relserve_kernels.gpu import kernels

    from lab.kernels import once

    for arch in SHARED_LIMIT_BYTES:
        for dtype, name in NAMES.items():
            x = f"*{name}"
            stored = {"x": x, "pool": x, "slots": "*i64", "x_stride": "i64", **_STRIDES}
            del stored["table_stride"]
            yield _told(kernels.store_rows, stored, {"WIDE": STORE_WIDE}, {}, arch, name, None)
            paged = {"pool": x, "table": "*i32"}
            rows = {**paged, "lengths": "*i32", "starts": "*i64", "rows": x, **_STRIDES}
            yield _told(kernels.gather_rows, rows, {"WIDE": GATHER_WIDE}, {}, arch, name, None)
            softmax = {"scores": "*fp32", "shares": x, "seen": "*i32", "heads": "i32", "most": "i32"}
            options = {"num_warps": SHARE_WARPS}
            yield _told(kernels.shares_of_scores, softmax, {"WIDE": SHARE_WIDE}, options, arch, name, None)
            for heads in HEADS:
                tiles = tiles_of(heads, dtype)
                of = {**paged, "owners": "*i32", "seen": "*i32"}
                sizes = {**_STRIDES, "heads": "i32", "most": "i32"}
                scores = {"asked": x, **of, "scores": "*fp32", **sizes, "scale": "fp32"}
                sums = {"shares": x, **of, "mixed": x, **sizes}
                for kernel, types, tile in (
                    (kernels.scores_of_x, scores, tiles.scores),
                    (kernels.sums_of_x, sums, tiles.sums),
                ):
                    yield _told(kernel, types, tile.constants(tiles.heads), tile.launch(), arch, name, heads)
            one = once.tile_of(dtype)
            of_parts = {
                "asked": x, **paged, "owners": "*i32", "seen": "*i32", "scores": "*fp32", "arrived": "*i32",
                "begun": "*i32", "mixed": x, **_STRIDES, "heads": "i32", "most": "i32", "counters": "i32",
                "scale": "fp32",
            }  # fmt: skip
            constants = one.constants(tiles.heads) | {"PARTS": -(-OPT_13B.width // one.wide)}
            yield _told(once.mix_once, of_parts, constants, one.launch(), arch, name, HEADS[-1])


def _told(
    kernel: Any,
    types: dict[str, str],
    constants: dict[str, int],
    options: dict[str, int],
    arch: int,
    dtype: str,
    heads: int | None,
) -> dict[str, Any]:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    order = {name: types.get(name, "constexpr") for name in kernel.arg_names}
    places = {(kernel.arg_names.index(name),): value for name, value in constants.items()}
    aligned = {
        (place,): [["tt.divisibility", 16]]
        for place, name in enumerate(kernel.arg_names)
        if order[name].startswith("*") or name in ("x_stride", "page_stride", "width", "per_page")
    }
    source = ASTSource(kernel, order, places, aligned)
    made = triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)
    registers, spilled = _assembled(made.asm["ptx"], arch)
    return {
        "kernel": kernel.__name__, "arch": arch, "dtype": dtype, "heads": heads, "registers": registers,
        "spilled_bytes": spilled, "shared_bytes": made.metadata.shared,
        "shared_limit_bytes": SHARED_LIMIT_BYTES[arch],
    }  # fmt: skip


def _assembled(ptx: str, arch: int) -> tuple[int, int]:
    """Registers of a thread and bytes that it spills, as ptxas says."""
    from triton.backends.nvidia.compiler import get_ptxas

    ptxas = get_ptxas(arch)
    suffix = "a" if arch >= 90 else ""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "kernel.ptx").write_text(ptx, encoding="utf-8")
        program = [ptxas.path, "-v", f"--gpu-name=sm_{arch}{suffix}", "kernel.ptx", "-o", "kernel.cubin"]
        printed = subprocess.run(program, cwd=folder, check=True, capture_output=True, text=True).stderr
    spills = [int(count) for count in re.findall(r"\b(\d++) bytes spill (?:stores|loads)", printed)]
    (registers,) = re.findall(r"Used (\d+) registers", printed)
    return int(registers), sum(spills)


def main() -> None:
    """Print a line for each kernel, or all as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="one JSON list in place of lines")
    told = list(compiled())
    if parser.parse_args().json:
        sys.stdout.write(json.dumps(told) + "\n")
        return
    for each in told:
        sys.stdout.write("  ".join(f"{name} {value}" for name, value in each.items()) + "\n")


if __name__ == "__main__":
    main()
