"""The Triton kernels under Triton's interpreter on a CPU, against the reference.

test_triton_kernels.py runs this in a process of its own with TRITON_INTERPRET=1, which Triton reads once.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
from relserve_kernels import reference
from relserve_kernels.gpu import path
from relserve_kernels.pages import spans
from torch import Tensor

from tests.kernels.paged import Batch, assert_near, batch_of

DTYPES = ["float32", "float16"]  # the interpreter multiplies the bits of bf16 as whole numbers
BATCH = [(1, 1), (1, 63), (3, 3), (0, 5), (2, 20), (1, 8), (0, 0), (1, 100)]
SHAPES: list[dict[str, int]] = [
    {},
    {"num_heads": 1, "head_dim": 63, "width": 63, "gap": 5},
    {"num_heads": 17, "head_dim": 16, "width": 272, "tokens_per_block": 16},
]


@pytest.fixture
def gpu() -> Any:
    """The path of a GPU; its kernels are interpreted."""
    return path


def both(gpu: Any, batch: Batch, name: str, *arguments: Any) -> tuple[Tensor, Tensor]:
    """What the kernels found, and the reference."""
    found, expected = batch.poisoned(), batch.poisoned()
    for way, out in ((gpu, found), (reference, expected)):
        getattr(way, name)(batch.query, batch.query_start, batch.x, *arguments, batch.scale, out)
    return found, expected


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_absorbed(gpu: Any, dtype: str, shape: dict[str, int]) -> None:
    batch = batch_of(BATCH, dtype, **shape)
    assert_near(*both(gpu, batch, "attend_absorbed", batch.wk, batch.wv, batch.value_bias))


def test_rows_that_pad_a_batch_are_left_as_they_are(gpu: Any) -> None:
    batch = batch_of(BATCH, "float32")
    query = torch.cat([batch.query, torch.full((2, *batch.query.shape[1:]), float("nan"))])
    found = torch.full_like(query, 7.0)
    gpu.attend_absorbed(query, batch.query_start, batch.x, batch.wk, batch.wv, None, batch.scale, found)
    expected = batch.poisoned()
    reference.attend_absorbed(
        batch.query, batch.query_start, batch.x, batch.wk, batch.wv, None, batch.scale, expected
    )
    assert_near(found[:-2], expected)
    assert torch.equal(found[-2:], torch.full_like(found[-2:], 7.0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_value_absorbed_over_gathered_rows(gpu: Any, dtype: str) -> None:
    batch = batch_of(BATCH, dtype)

    def keys(positions: Tensor, rows: Tensor) -> Tensor:
        turn = torch.cos(positions)[:, None, None].to(rows.dtype)
        return torch.einsum("nd,dhe->nhe", rows, batch.wk) * turn

    assert_near(*both(gpu, batch, "attend_value_absorbed", keys, batch.wv, None))


@pytest.mark.parametrize("dtype", DTYPES)
def test_store(gpu: Any, dtype: str) -> None:
    kind = getattr(torch, dtype)
    found = torch.full((4, 5 * 1100 + 3), float("nan"), dtype=kind)
    expected = found.clone()
    x, slots = torch.randn(4, 1100).to(kind), torch.tensor([19, -1, 0, 7])
    for way, memory in ((gpu, found), (reference, expected)):
        way.store_x(x, memory[:, : 5 * 1100].view(4, 5, 1100), slots)
    assert torch.equal(found.nan_to_num(9e9), expected.nan_to_num(9e9))


def test_a_text_may_have_more_tokens_than_the_second_axis_of_a_grid_has_programs(
    gpu: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CUDA takes 65,535 there and on the third one, so tokens are counted on the first."""
    kernel, grids = gpu.kernels.gather_rows, []

    class Launched:
        def __getitem__(self, grid: tuple[int, ...]) -> Any:
            grids.append(grid)
            return kernel[grid]

    monkeypatch.setattr(gpu.kernels, "gather_rows", Launched())
    batch = batch_of([(1, 100), (1, 3)], "float32")
    rows = gpu.gathered(list(spans(batch.query_start, batch.x)), batch.x)
    assert all(map(torch.equal, rows, batch.texts))
    assert grids == [(100, 2, 1)]
