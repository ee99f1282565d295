"""relQueries and the hidden cache's kernels on one GPU of a machine without a network.

Where the tables are, `draw` writes the traces into a file. On the machine with the GPU, which needs torch,
Triton and vLLM 0.26 to 0.33 but no data, `serve` runs the stages one after the other, each in a process that
prints its table and writes its file as it goes. Back here `keep` puts the simulator's figures beside the
measured ones, on an engine fitted to the measured steps, and saves both as a result file.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.claims import Exact, Higher, Lower, Untold
from benchmarks.common import arguments, finish, table
from benchmarks.gpu.shapes import SHAPES

ROOMS = ("relserve/policies/scheduling", "relserve/vllm_plugin", "kernels/relserve_kernels/gpu")
HEADLINE = {
    "device": Untold("the card"), "vllm_over_default": Higher(0.2), "p99_over_vllm": Lower(0.5),
    "static_over_default": Higher(0.2), "default_over_paper": Lower(0.2), "leaked_blocks": Exact(0),
    "simulated_over_real": Untold("how far the simulator is off"), "policy_ms": Lower(0.5),
    "kernels_error": Lower(0.5), "absorbed_over_kv": Lower(0.3),
}  # fmt: skip
NEEDS = {"nvidia-smi": "a machine with a GPU, and the three commands by hand"}
KERNELS_MINUTES, START_MINUTES, RUN_MINUTES = 0.5, 1.0, 0.4  # seen on an H200 with OPT-13B


def draw(args: argparse.Namespace) -> None:
    """Write the traces."""
    from benchmarks.gpu.traces import drawn, save

    save(drawn(args.seeds, args.relqueries, args.max_rows, args.warm_rows), args.traces)


def serve(args: argparse.Namespace) -> None:
    """Run the stages; a dry run says what each would take."""
    until_s = time.monotonic() + 60 * args.minutes
    stages: list[tuple[str, list[str], float]] = [("kernels", [], KERNELS_MINUTES)]
    runs = args.seeds * (1 + 4 * len(args.loads))
    loads = [f"{load:g}" for load in args.loads]
    for model in args.models:
        told = ["--model", model, "--traces", str(args.traces), "--seeds", str(args.seeds), "--loads", *loads]
        stages.append(("latency", [*told, *args.further], START_MINUTES + runs * RUN_MINUTES))
    if args.dry_run:
        print(table(["stage", "arguments", "minutes"], [[s, " ".join(a), m] for s, a, m in stages]))
        return
    for stage, told, _ in stages:
        left = (until_s - time.monotonic()) / 60
        minutes = ["--minutes", f"{left - 0.2:.2f}"] if stage == "latency" else []
        command = [sys.executable, "-m", f"benchmarks.gpu.{stage}", "--out", str(args.out), *told, *minutes]
        if subprocess.run(command, check=False).returncode:
            print(f"{stage} {' '.join(told)} failed; what it had done is in {args.out}", flush=True)


def keep(args: argparse.Namespace) -> None:
    """Save what came back as a result file, with the simulator's figures beside it."""
    from benchmarks.gpu.replay import simulated_beside

    kernels = json.loads((args.out / "kernels.json").read_text(encoding="utf-8"))
    served = {
        path.stem.removeprefix("latency_"): json.loads(path.read_text(encoding="utf-8"))["details"]
        for path in sorted(args.out.glob("latency_*.json"))
    }
    main = served[args.models[0]]
    beside = simulated_beside(main, args.traces)
    ratios = beside["ratios"]
    lengths = kernels["lengths"]
    headline = {
        "device": main["device"], **ratios, "leaked_blocks": sum(r["leaked_blocks"] for r in main["runs"]),
        "simulated_over_real": beside["simulated_over_real"], "policy_ms": beside["policy_ms"],
        "kernels_error": round(max(each["error"] for each in lengths), 4),
        "absorbed_over_kv": [round(e["absorbed, graph"] / e["keys and values, graph"], 2) for e in lengths],
    }  # fmt: skip
    details = {"kernels": kernels, "beside": beside, "latency": served}
    elsewhere: dict[str, Any] = {"machine": main["device"], "command": "python -m benchmarks.gpu"}
    if args.commit:
        elsewhere["commit"] = args.commit
    finish("gpu", headline, details, False, elsewhere=elsewhere)


def options() -> argparse.Namespace:
    """The command line."""
    parser = arguments(__doc__ or "")
    parser.add_argument("act", choices=["draw", "serve", "keep"])
    parser.add_argument("--traces", type=Path, default=Path("build/gpu/traces.pickle"))
    parser.add_argument("--out", type=Path, default=Path("build/gpu"), help="folder of the stages' files")
    parser.add_argument("--minutes", type=float, default=14.0, help="that all stages may take")
    parser.add_argument("--models", nargs="+", default=["opt-13b"], choices=list(SHAPES))
    parser.add_argument("--loads", type=float, nargs="+", default=[1.4])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--relqueries", type=int, default=60, help="of a trace")
    parser.add_argument("--max-rows", type=int, default=100)
    parser.add_argument("--warm-rows", type=int, default=8, help="of each template, served beforehand")
    parser.add_argument("--dry-run", action="store_true", help="say what each stage would take")
    parser.add_argument("--commit", help="that was measured, if another than this tree's")
    args, args.further = parser.parse_known_args()
    return args


def main() -> None:
    """Do what is asked."""
    args = options()
    {"draw": draw, "serve": serve, "keep": keep}[args.act](args)


if __name__ == "__main__":
    main()
