"""The kernel that reads X once: interpreted on a CPU against the reference."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interpreted import interpreted, needs_triton

pytestmark = needs_triton


@pytest.mark.timeout(300)
def test_interpreted_it_finds_what_the_reference_finds_and_loads_x_once() -> None:
    assert "6 passed" in interpreted(Path(__file__).with_name("interpreted_once.py"))
