"""The kernel that reads X once: interpreted on a CPU against the reference."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

INTERPRETED = Path(__file__).with_name("interpreted_once.py")

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("triton") is None, reason="Triton is not installed: pip install triton"
)


@pytest.mark.timeout(300)
def test_interpreted_it_finds_what_the_reference_finds_and_loads_x_once() -> None:
    program = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(INTERPRETED)]
    environment = os.environ | {"TRITON_INTERPRET": "1"}
    ran = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "6 passed" in ran.stdout
