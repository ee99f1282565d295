"""The hidden cache by Triton's kernels in real engines on a CPU, through Triton's interpreter."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.engine_of_its_own,
    pytest.mark.long,
    pytest.mark.timeout(3600),  # an interpreted kernel takes a second
    pytest.mark.skipif(
        importlib.util.find_spec("triton") is None, reason="Triton is not installed: pip install triton"
    ),
]


def interpreted(*arguments: str) -> str:
    """What pytest prints in a process of its own, with Triton's interpreter; all its tests pass there."""
    program = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=3000", *arguments]
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    ran = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=3500, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "skipped" not in ran.stdout
    return ran.stdout


def test_an_engine_says_the_same_by_tritons_kernels() -> None:
    said = interpreted(str(Path(__file__).with_name("interpreted_engines.py")))
    assert "4 passed" in said


def test_the_cases_of_the_hidden_cache_hold_by_tritons_kernels() -> None:
    said = interpreted(str(Path(__file__).with_name("interpreted_cases.py")))
    assert "30 passed" in said
