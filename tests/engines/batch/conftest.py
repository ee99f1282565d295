"""A server of batches, with kept answers and batches in a folder of the test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from batch_server import BatchServer, serving

import relserve


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchServer]:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("RELSERVE_ANSWER_CACHE_MB", "64")
    with serving(BatchServer()) as one:
        yield one
    relserve.close_engines()
