"""How a layer attends over X: what its weights make of it, and when keys and values are cheaper."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from relserve_kernels.absorbed import attend_absorbed, attend_value_absorbed
from relserve_kernels.cpu.instructions import multiplies
from relserve_kernels.dispatch import Path
from relserve_kernels.pages import PagedX
from torch import Tensor

# What a multiply-add over X costs, in those of keys and values made again. With AVX2 in float32, d = 1,024,
# it was 0.8 where the two are equally quick (64 queries after 200 tokens), and 0.4 to 1.4 elsewhere.
ABSORBED_COST = 1.0


class AttentionShape(NamedTuple):
    """Of a layer's attention: numbers in X, heads, numbers in a head, and whether keys have positions."""

    x_width: int
    num_heads: int
    head_dim: int
    is_rotated: bool


def absorbs(num_queries: np.ndarray, num_tokens: np.ndarray, shape: AttentionShape) -> np.ndarray:
    """Which requests are cheaper to answer over X than over keys and values made again, by multiply-adds.

    Made again, each earlier token costs one product with both weights, and each query 2 numbers of a head a
    token. Absorbed, each query costs a product with both weights, and 2 numbers of X a token and head. Where
    keys have positions only values are absorbed: keys are made again for all tokens.

    Args:
        num_queries: tokens of this step, of each request.
        num_tokens: tokens of each request, those of this step among them.
    """
    d, heads, kv_width = shape.x_width, shape.num_heads, shape.num_heads * shape.head_dim
    pairs = num_queries * (num_tokens - (num_queries - 1) / 2)  # of a query and a token that it sees
    made = (num_tokens - num_queries) * 2 * d * kv_width + pairs * 2 * kv_width
    if shape.is_rotated:
        over_x = num_tokens * d * kv_width + pairs * kv_width + num_queries * d * kv_width + pairs * heads * d
    else:
        over_x = 2 * (num_queries * d * kv_width + pairs * heads * d)
    cheaper: np.ndarray = ABSORBED_COST * over_x <= made
    return cheaper


class Weights(NamedTuple):
    """A layer's projections of X to keys and values.

    Attributes:
        both: [2 * heads * head_dim, d], keys' rows and then values', as a model's qkv_proj has them.
        bias: [2 * heads * head_dim].
        key, value: [d, heads, head_dim], views of `both`.
        value_bias: [heads, head_dim].
    """

    both: Tensor
    bias: Tensor
    key: Tensor
    value: Tensor
    value_bias: Tensor


def weights_of(projection: Any, num_heads: int, head_dim: int, x_width: int, dtype: torch.dtype) -> Weights:
    """Read the weights off what the projection does: vLLM keeps them packed on some machines.

    Without its bias: beside a large one, a sum in 16 bits has lost the weight's digits.

    Args:
        projection: vLLM's layer from X to queries, keys and values, one after the other.
    """
    kv_width = num_heads * head_dim
    device = projection.weight.device
    made = projection.quant_method.apply(projection, torch.eye(x_width, dtype=dtype, device=device), None)
    both = made[:, -2 * kv_width :].T.contiguous()
    given = (
        torch.zeros(2 * kv_width, dtype=dtype, device=device) if projection.bias is None else projection.bias
    )
    bias = given[-2 * kv_width :].detach().to(dtype, copy=True)  # beside packed weights it is in float32
    key, value = (each.view(num_heads, head_dim, x_width).permute(2, 0, 1) for each in both.chunk(2))
    return Weights(both, bias, key, value, bias[kv_width:].view(num_heads, head_dim))


class OverX:
    """Attention over X in a layer.

    Args:
        layer: vLLM's attention block, with its `qkv_proj` and `attn`.
        x_width: numbers in a token's X.
        path: whose kernels attend, and store X.
    """

    def __init__(self, layer: Any, x_width: int, path: Path) -> None:
        self._layer, self._x_width, self.path = layer, x_width, path
        self._rotary = getattr(layer, "rotary_emb", None)
        self._weights: Weights | None = None
        self._wide: tuple[Tensor, Tensor] | None = None

    @property
    def shape(self) -> AttentionShape:
        """The layer's."""
        attn = self._layer.attn
        return AttentionShape(self._x_width, attn.num_kv_heads, attn.head_size, self._rotary is not None)

    def weights(self) -> Weights:
        """The layer's weights, read when first needed: after they were loaded."""
        if self._weights is None:
            attn, dtype = self._layer.attn, self._layer.qkv_proj.params_dtype
            self._weights = weights_of(
                self._layer.qkv_proj, attn.num_kv_heads, attn.head_size, self._x_width, dtype
            )
        return self._weights

    def prepare(self) -> None:
        """Make all that is kept of the weights, after they were loaded."""
        weights = self.weights()
        self._projected(torch.zeros_like(weights.both[:1]), slice(None))

    def attend(self, query: Tensor, query_start: Tensor, x: PagedX, scale: float, out: Tensor) -> None:
        """Answer requests without making the keys and values of all their tokens again.

        Rotated keys are made, for a rotation lies between them and X.
        """
        weights = self.weights()
        value = (weights.value, weights.value_bias)
        if self._rotary is None:
            # A bias of the keys adds the same to all scores of a query: softmax does not see it.
            attend_absorbed(query, query_start, x, weights.key, *value, scale, out, self.path)
        else:
            attend_value_absorbed(query, query_start, x, self.project_keys, *value, scale, out, self.path)

    def project(self, positions: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of tokens, [t, heads, head_dim] each.

        Args:
            positions: int64 [t], their places in their texts.
            rows: X, [t, d].
        """
        key, value = self._projected(rows, slice(None)).chunk(2, dim=1)
        return self._turned(positions, key), self._by_head(value)

    def project_keys(self, positions: Tensor, rows: Tensor) -> Tensor:
        """Keys alone, rotated where the model rotates them."""
        return self._turned(positions, self._projected(rows, slice(self.weights().both.shape[0] // 2)))

    def _projected(self, rows: Tensor, which: slice) -> Tensor:
        """Rows [t, d] by some rows of the weights.

        Where the CPU has no products of their number type, by a copy in float32, of twice the weights' bytes.
        """
        weights = self.weights()
        if rows.dtype == torch.float32 or rows.device.type != "cpu" or multiplies(rows.dtype):
            return F.linear(rows, weights.both[which], weights.bias[which])
        if self._wide is None:
            self._wide = weights.both.float(), weights.bias.float()
        both, bias = self._wide
        return F.linear(rows.float(), both[which], bias[which]).to(rows.dtype)

    def _turned(self, positions: Tensor, key: Tensor) -> Tensor:
        if self._rotary is None:
            return self._by_head(key)
        rotated, _ = self._rotary(positions, key.contiguous(), None)
        return self._by_head(rotated)

    def _by_head(self, each: Tensor) -> Tensor:
        shape = self.shape
        return each.reshape(-1, shape.num_heads, shape.head_dim)
