"""llama.cpp for the tests, from an environment of its own that `make llamacpp` makes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / "build" / "llamacpp" / "bin" / "python"


def run_python(*arguments: str, given: str = "") -> str:
    """What that environment's Python prints; the test is skipped where there is none."""
    if not (PYTHON.parent.parent / ".installed").exists():
        pytest.skip("llama-cpp-python is not built: `make llamacpp` builds it, or says why it cannot")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [str(PYTHON), *arguments], input=given, env=env, check=True, capture_output=True, text=True
    ).stdout


def tiny_as_gguf(path: Path, number_format: str = "F32") -> Path:
    """The embedded model as a GGUF file at `path`."""
    run_python("-m", "training.tiny.gguf_export", str(path), "--format", number_format)
    return path
