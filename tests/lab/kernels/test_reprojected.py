"""Apt-Serve's attention over X, against attention over keys and values."""

from __future__ import annotations

import pytest

from tests.kernels.paged import assert_near, batch_of
from tests.kernels.test_cache_kernels import DTYPES, MIXED, expected, plain_keys, turned_keys
from tests.modules import later

torch = later("torch")
reprojected = later("lab.kernels.reprojected")


@pytest.mark.parametrize("dtype", DTYPES)
def test_reprojected_is_attention_over_keys_and_values(dtype: str) -> None:
    batch = batch_of(MIXED, dtype)
    out, keys = batch.poisoned(), turned_keys(batch)

    def project(positions: torch.Tensor, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return keys(positions, rows), torch.einsum("nd,dhe->nhe", rows, batch.wv) + batch.value_bias

    reprojected.attend_reprojected(batch.query, batch.query_start, batch.x, project, batch.scale, out)
    assert_near(out, expected(batch, keys))


def test_reprojected_heads_are_shared_by_groups_of_queries() -> None:
    batch = batch_of(MIXED, "float32", num_heads=4)
    out = batch.poisoned()
    shared = [weight[:, [0, 0, 2, 2]] for weight in (batch.wk, batch.wv)]

    def project(positions: torch.Tensor, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        keys, values = (torch.einsum("nd,dhe->nhe", rows, weight[:, ::2]) for weight in shared)
        return keys, values

    reprojected.attend_reprojected(batch.query, batch.query_start, batch.x, project, batch.scale, out)
    same = batch._replace(wk=shared[0], wv=shared[1], value_bias=torch.zeros_like(batch.value_bias))
    assert_near(out, expected(same, plain_keys(same)))
