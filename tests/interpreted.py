"""Tests in a process of their own with TRITON_INTERPRET=1, which Triton reads once."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

needs_triton = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="Triton is not installed: pip install triton"
)


def interpreted(file: Path, timeout_s: int = 280) -> str:
    """What pytest prints of a file whose tests all pass there."""
    program = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--timeout={timeout_s}", file]
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    ran = subprocess.run(
        program, env=environment, capture_output=True, text=True, timeout=timeout_s, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "skipped" not in ran.stdout
    return ran.stdout
