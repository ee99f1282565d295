"""Norms on a CPU: the same bits as vLLM's own, and only where that is so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.modules import later

norms = later("relserve.vllm_plugin.norms")
torch = later("torch")


HIDDEN = 256
ROWS = (1, 31, 769, 2048)  # the last two are computed in parts


def plain(weight: Any, x: Any, residual: Any = None) -> Any:
    """What vLLM computes on a CPU (vllm/ir/ops/layernorm.py)."""
    dtype = x.dtype
    x = x.to(torch.float32)
    if residual is not None:
        x = x + residual.to(torch.float32)
        residual = x.to(dtype)
    x = x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
    x = (x.to(weight.dtype) * weight).to(dtype)
    return x if residual is None else (x, residual)


class RMSNorm(torch.nn.Module):
    """Named as vLLM's, with a forward of the test's own."""

    def __init__(self, dtype: Any, forward: Callable[..., Any]) -> None:
        super().__init__()
        drawn = torch.rand(HIDDEN, generator=torch.Generator().manual_seed(1))
        self.weight = torch.nn.Parameter((1 + drawn).to(dtype))
        self.variance_epsilon = 1e-6
        self._forward_method = lambda *args: forward(self.weight.data, *args)


def drawn(num_rows: int, dtype: Any) -> tuple[Any, Any]:
    generator = torch.Generator().manual_seed(num_rows)
    x, residual = (torch.randn(num_rows, HIDDEN, generator=generator) for _ in range(2))
    return x.to(dtype), (3 * residual).to(dtype)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_a_norm_in_parts_gives_the_same_bits(dtype: Any) -> None:
    module = RMSNorm(dtype, plain)
    assert norms.quicken(torch.nn.Sequential(module, torch.nn.Linear(2, 2))) == 1
    for num_rows in ROWS:
        x, residual = drawn(num_rows, dtype)
        expected = plain(module.weight.data, x), *plain(module.weight.data, x, residual)
        with torch.no_grad():
            given = module._forward_method(x), *module._forward_method(x.clone(), residual.clone())
        assert all(torch.equal(one, two) for one, two in zip(given, expected, strict=True))


def test_a_norm_alone_leaves_its_input() -> None:
    module = RMSNorm(torch.float32, plain)
    norms.quicken(module)
    x, _ = drawn(2048, torch.float32)
    before = x.clone()
    module._forward_method(x)
    assert torch.equal(x, before)


def rounded_once(weight: Any, x: Any, residual: Any = None) -> Any:
    """As vLLM's C++ norm: without rounding before the weight."""
    wide = plain(weight.float(), x.float(), None if residual is None else residual.float())
    return wide.to(x.dtype) if residual is None else tuple(each.to(x.dtype) for each in wide)


def of_parts_of_a_row(weight: Any, x: Any, residual: Any = None, *, size: int) -> Any:
    raise AssertionError("never called")


@pytest.mark.parametrize("forward", [rounded_once, of_parts_of_a_row])
def test_a_norm_of_another_kind_is_left_alone(forward: Callable[..., Any]) -> None:
    module = RMSNorm(torch.bfloat16, forward)
    assert norms.quicken(module) == 0
    assert not isinstance(module._forward_method, norms.Norm)


@pytest.mark.vllm
def test_vllms_own_norms_are_replaced() -> None:
    config = pytest.importorskip("vllm.config", reason="vLLM is not installed")
    layers = pytest.importorskip("vllm.model_executor.layers.layernorm")
    platforms = pytest.importorskip("vllm.platforms")
    if not platforms.current_platform.is_cpu():
        pytest.skip("vLLM computes on a GPU here")
    with config.set_current_vllm_config(config.VllmConfig()):
        module = layers.RMSNorm(HIDDEN, dtype=torch.bfloat16)
    x, residual = drawn(2048, torch.bfloat16)
    with torch.no_grad():
        expected = module(x.clone(), residual.clone())
        assert norms.quicken(module) == 1
        given = module(x, residual)
    assert all(torch.equal(one, two) for one, two in zip(given, expected, strict=True))
