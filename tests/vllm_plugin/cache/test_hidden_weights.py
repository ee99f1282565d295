"""A layer's weights for X, read off vLLM's projection."""

from __future__ import annotations

from typing import Any

import pytest

from tests.modules import later

F = later("torch.nn.functional")
attending = later("relserve.vllm_plugin.cache.attending")
torch = later("torch")


D, HEADS, HEAD_DIM = 96, 2, 48


class Projection:
    """As vLLM's layer: what multiplies is apart from it, and is given the bias."""

    def __init__(self, dtype: torch.dtype, bias: float | None, is_packed: bool = False) -> None:
        generator = torch.Generator().manual_seed(1)
        self.weight = (0.04 * torch.randn(3 * D, D, generator=generator)).to(dtype)
        self.bias = None if bias is None else (bias * torch.randn(3 * D, generator=generator)).to(dtype)
        self.quant_method = self
        if is_packed and self.bias is not None:  # as vLLM does on CPUs with AMX
            self.bias = self.bias.float()

    def apply(self, layer: Any, rows: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
        return F.linear(rows, layer.weight, None if bias is None else bias.to(rows.dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("bias", [None, 0.1, 4.0])
@pytest.mark.parametrize("is_packed", [False, True])
def test_weights_are_the_projections_whatever_its_bias(
    dtype: torch.dtype, bias: float | None, is_packed: bool
) -> None:
    projection = Projection(dtype, bias, is_packed)
    weights = attending.weights_of(projection, HEADS, HEAD_DIM, D, dtype)
    assert torch.equal(weights.both, projection.weight[D:])
    assert torch.equal(weights.key, projection.weight[D : 2 * D].view(HEADS, HEAD_DIM, D).permute(2, 0, 1))
    expected = torch.zeros(2 * D, dtype=dtype) if projection.bias is None else projection.bias[D:]
    assert torch.equal(weights.bias, expected.to(dtype))
    assert torch.equal(weights.value_bias, expected[D:].view(HEADS, HEAD_DIM).to(dtype))
