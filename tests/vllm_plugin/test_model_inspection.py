"""A model's class is looked at in the process that starts its engine, where that is for a CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from relserve.vllm_plugin import engines


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """vLLM's, on a machine on which it has looked at no model; it can start no process."""
    pytest.importorskip("vllm", reason="vLLM is not installed")
    from vllm.model_executor.models import registry

    def refuse(look: Any) -> None:
        raise OSError("no process for it")

    monkeypatch.setenv("VLLM_CACHE_ROOT", str(tmp_path))
    monkeypatch.setattr(registry, "_run_in_subprocess", refuse)
    return registry


def look(registry: Any) -> Any:
    model = registry._LazyRegisteredModel("vllm.model_executor.models.llama", "LlamaForCausalLM")
    return model.inspect_model_cls()


def test_on_a_cpu_no_process_is_started_for_it(
    registry: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "runs_on_cpu", lambda: True)
    engines.inspect_models_here()
    assert look(registry).is_text_generation_model
    assert len(list((tmp_path / "modelinfos").iterdir())) == 1  # vLLM keeps what it found


def test_on_a_gpu_vllm_does_as_it_would(registry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "runs_on_cpu", lambda: False)
    engines.inspect_models_here()
    with pytest.raises(OSError, match="no process for it"):
        look(registry)
