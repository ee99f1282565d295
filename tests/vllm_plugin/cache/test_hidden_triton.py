"""The hidden cache by Triton's kernels in real engines on a CPU, through Triton's interpreter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interpreted import interpreted, needs_triton

LIMIT_S = 3500  # an interpreted kernel takes a second

pytestmark = [
    pytest.mark.vllm,
    pytest.mark.engine_of_its_own,
    pytest.mark.long,
    pytest.mark.timeout(LIMIT_S + 100),
    needs_triton,
]


def test_an_engine_says_the_same_by_tritons_kernels() -> None:
    assert "4 passed" in interpreted(Path(__file__).with_name("interpreted_engines.py"), LIMIT_S)


def test_the_cases_of_the_hidden_cache_hold_by_tritons_kernels() -> None:
    assert "30 passed" in interpreted(Path(__file__).with_name("interpreted_cases.py"), LIMIT_S)
