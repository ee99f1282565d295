"""Whose kernels a setting may ask for: refused in words where they cannot run."""

from __future__ import annotations

import pytest
from relserve_kernels import choice

from tests.modules import later

torch = later("torch")
dispatch = later("relserve_kernels.dispatch")


@pytest.mark.parametrize(
    ("device", "kernels", "said"),
    [
        ("cpu", "cpu", ""),
        ("cuda", "cpu", "the tensors are on cuda"),
        ("cuda", "triton", ""),
        ("xpu", "triton", "not on xpu"),
        ("cpu", "triton", "start the engine with TRITON_INTERPRET=1"),
        ("cpu", "cuda", "there are cpu, triton"),
    ],
)
def test_where_kernels_run(device: str, kernels: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "find_spec", lambda name: True)
    monkeypatch.delenv(choice.INTERPRETER, raising=False)
    found = choice.what_forbids(device, kernels)
    assert said in found
    assert bool(said) == bool(found)


def test_without_triton_its_kernels_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match="kernels 'triton': Triton is not installed: pip install triton"):
        dispatch.path_for(torch.device("cpu"), "triton")
    monkeypatch.setattr("relserve_kernels.dispatch.build.load", lambda: False)  # nothing is compiled
    assert dispatch.path_for(torch.device("cpu"), "cpu").__name__ == "relserve_kernels.cpu.plain"
