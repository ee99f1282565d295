"""An engine waits half a second for some threads as it ends; tests wait longer, for they may be held up."""

from __future__ import annotations

import pytest

from relserve.vllm_plugin import background_file, learner
from tests.waiting import PATIENCE_S


@pytest.fixture(autouse=True)
def patient_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that a thread writes are written, and steps learnt from, when `close` returns."""
    monkeypatch.setattr(background_file, "CLOSE_S", PATIENCE_S)
    monkeypatch.setattr(learner, "CLOSE_S", PATIENCE_S)
