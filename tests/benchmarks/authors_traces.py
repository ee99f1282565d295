"""Tests that need the traces of a paper's authors."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.provenance import ROOT

FOLDER = Path(os.environ.get("RELSERVE_DATA", ROOT.parent / "shared" / "data"))


def with_traces(test: Callable[[], None]) -> Callable[[], None]:
    """Marks a test that is skipped where they are not there."""
    skip = pytest.mark.skipif(not FOLDER.is_dir(), reason="no real traces: set RELSERVE_DATA")
    return pytest.mark.data(skip(test))
