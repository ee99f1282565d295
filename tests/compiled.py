"""Byte code of a fresh clone: each worker compiles a share of the files, not each of them all."""

from __future__ import annotations

import compileall
import sys
from pathlib import Path

import pytest
from _pytest.assertion.rewrite import PYC_TAIL, _rewrite_test, _write_pyc, assertstate_key

ROOT = Path(__file__).parents[1]
FOLDERS = ("benchmarks", "duckdb_ext", "kernels", "lab", "relserve", "tests", "training")


def share_of(number: int, count: int) -> list[Path]:
    """The files that worker `number` of `count` compiles, by no order in which they are imported."""
    return sorted(path for name in FOLDERS for path in (ROOT / name).rglob("*.py"))[number::count]


def compile_files(paths: list[Path], config: pytest.Config) -> None:
    """Write the byte code of what has none that is newer; of tests as pytest does, with told assertions."""
    if sys.dont_write_bytecode or config.getoption("assertmode") != "rewrite":
        return
    for path in paths:
        if not path.name.startswith("test_") and path.name != "conftest.py":
            compileall.compile_file(path, quiet=2)
            continue
        folder = path.parent / "__pycache__"
        pyc = folder / (path.stem + PYC_TAIL)
        if not pyc.exists() or pyc.stat().st_mtime < path.stat().st_mtime:
            folder.mkdir(exist_ok=True)
            source, code = _rewrite_test(path, config)
            _write_pyc(config.stash[assertstate_key], code, source, pyc)
