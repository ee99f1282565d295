"""The file of what tokens in memory cost: written, read, and left alone where it cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from relserve.machine.token_costs import TokenCosts, find_token_costs, save_token_costs, token_costs_path
from relserve.tiny import MODEL_DIR

MODEL = str(MODEL_DIR)


@pytest.fixture(autouse=True)
def _own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RELSERVE_CACHE_DIR", str(tmp_path))


def test_what_was_saved_is_found() -> None:
    assert find_token_costs(MODEL) is None
    costs = TokenCosts(1e-7, 2.5e-7)
    save_token_costs(token_costs_path(MODEL), costs)
    assert find_token_costs(MODEL) == costs


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"kv_s": 1}', '{"kv_s": -1, "hidden_s": 0}', '{"kv_s": "a", "hidden_s": 0}']
)
def test_a_file_that_cannot_be_used_is_one_warning(text: str, caplog: pytest.LogCaptureFixture) -> None:
    path = token_costs_path(MODEL)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert find_token_costs(MODEL) is None
    assert "relserve calibrate makes a new one" in caplog.text
