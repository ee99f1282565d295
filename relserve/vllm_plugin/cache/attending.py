"""How a layer attends over X: what its weights make of it, and which kernel for how many queries."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from relserve_kernels.absorbed import attend_absorbed, attend_value_absorbed
from relserve_kernels.pages import PagedX
from relserve_kernels.reproject import attend_reprojected
from torch import Tensor


class Weights(NamedTuple):
    """A layer's projections of X to keys and values: [d, heads, head_dim], and biases [heads, head_dim].

    Each head's numbers lie together: products a head are several times quicker then.
    """

    key: Tensor
    value: Tensor
    key_bias: Tensor
    value_bias: Tensor


def weights_of(projection: Any, num_heads: int, head_dim: int, x_width: int, dtype: torch.dtype) -> Weights:
    """Read the weights off what the projection does: vLLM keeps them packed on some machines.

    Args:
        projection: vLLM's layer from X to queries, keys and values, one after the other.
    """
    unit = torch.eye(x_width, dtype=dtype)
    bias = projection(torch.zeros(1, x_width, dtype=dtype))[0][0]
    weight = projection(unit)[0] - bias
    kv_width = num_heads * head_dim
    _, key, value = weight.split([weight.shape[1] - 2 * kv_width, kv_width, kv_width], dim=1)
    biases = bias[-2 * kv_width :].view(2, num_heads, head_dim)
    by_head = [each.reshape(x_width, num_heads, head_dim).transpose(0, 1) for each in (key, value)]
    key, value = (each.contiguous().transpose(0, 1) for each in by_head)
    return Weights(key, value, biases[0], biases[1])


class OverX:
    """Attention over X in a layer.

    Args:
        layer: vLLM's attention block, with its `qkv_proj` and `attn`.
        x_width: numbers in a token's X.
        absorbs: whether few queries may be answered without making keys and values.
    """

    def __init__(self, layer: Any, x_width: int, absorbs: bool) -> None:
        self._layer, self._x_width, self._absorbs = layer, x_width, absorbs
        self._rotary = getattr(layer, "rotary_emb", None)
        self._weights: Weights | None = None

    def weights(self) -> Weights:
        """The layer's weights, read when first needed: after they were loaded."""
        if self._weights is None:
            attn, dtype = self._layer.attn, self._layer.qkv_proj.params_dtype
            self._weights = weights_of(
                self._layer.qkv_proj, attn.num_kv_heads, attn.head_size, self._x_width, dtype
            )
        return self._weights

    def few(self, query: Tensor, query_start: Tensor, x: PagedX, scale: float, out: Tensor) -> None:
        """Requests with few queries each: without making the keys and values of all their tokens again.

        Rotated keys are made, for a rotation lies between them and X.
        """
        if not self._absorbs:
            self.many(query, query_start, x, scale, out)
            return
        key, value, _, value_bias = self.weights()
        if self._rotary is None:
            # A bias of the keys adds the same to all scores of a query: softmax does not see it.
            attend_absorbed(query, query_start, x, key, value, value_bias, scale, out)
        else:
            attend_value_absorbed(query, query_start, x, self.project_keys, value, value_bias, scale, out)

    def many(self, query: Tensor, query_start: Tensor, x: PagedX, scale: float, out: Tensor) -> None:
        """Requests with many queries each: their keys and values are made again, once for all queries."""
        attend_reprojected(query, query_start, x, self.project, scale, out)

    def project(self, positions: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of tokens, [t, heads, head_dim] each.

        Args:
            positions: int64 [t], their places in their texts.
            rows: X, [t, d].
        """
        _, weight, _, bias = self.weights()
        return self.project_keys(positions, rows), _projected(rows, weight, bias)

    def project_keys(self, positions: Tensor, rows: Tensor) -> Tensor:
        """Keys alone, rotated where the model rotates them."""
        weight, _, bias, _ = self.weights()
        key = _projected(rows, weight, bias)
        if self._rotary is None:
            return key
        rotated, _ = self._rotary(positions, key.flatten(1), None)
        turned: Tensor = rotated.view(key.shape)
        return turned


def _projected(rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Rows [t, d] by a weight [d, heads, head_dim] and a bias of the heads: [t, heads, head_dim]."""
    return torch.matmul(rows, weight.transpose(0, 1)).transpose(0, 1) + bias
