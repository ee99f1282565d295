"""The Triton kernels: interpreted on a CPU against the reference, and compiled ahead for GPUs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interpreted import interpreted, needs_triton

INTERPRETED = Path(__file__).with_name("interpreted_kernels.py")
KERNELS = ("store_rows", "gather_rows", "scores_of_x", "shares_of_scores", "sums_of_x", "mix_once")

pytestmark = needs_triton


@pytest.mark.timeout(300)
def test_interpreted_they_find_what_the_reference_finds() -> None:
    assert " passed" in interpreted(INTERPRETED)


@pytest.mark.timeout(300)
def test_compiled_for_a100_and_h100_nothing_spills_and_shared_memory_suffices() -> None:
    program = [sys.executable, "-m", "lab.kernels.ahead", "--json"]
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    ran = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert ran.returncode == 0, ran.stderr
    made = json.loads(ran.stdout)
    assert {(each["arch"], each["kernel"]) for each in made} == {
        (arch, kernel) for arch in (80, 90) for kernel in KERNELS
    }
    for each in made:
        assert each["spilled_bytes"] == 0, each
        assert 0 < each["registers"] <= 255, each
        assert each["shared_bytes"] <= each["shared_limit_bytes"], each
