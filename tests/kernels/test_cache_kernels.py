"""Every path of the hidden cache's kernels against plain attention over keys and values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.kernels.paged import Batch, assert_near, batch_of
from tests.modules import later

torch = later("torch")
F = later("torch.nn.functional")
absorbed = later("relserve_kernels.absorbed")
build, native, plain = (later(f"relserve_kernels.cpu.{name}") for name in ("build", "native", "plain"))
dispatch = later("relserve_kernels.dispatch")
pages = later("relserve_kernels.pages")
store = later("relserve_kernels.store")

PATHS = {"reference": later("relserve_kernels.reference"), "plain": plain, "native": native}
# Half a minute of a compiler's work comes before what it compiled.
COMPILED = pytest.mark.long
DTYPES = ["float32", "bfloat16"]
SHAPES: list[dict[str, int]] = [
    {},
    {"num_heads": 1, "head_dim": 63, "width": 63, "gap": 5},
    {"num_heads": 20, "head_dim": 16, "width": 320, "tokens_per_block": 16, "gap": 32},
    {"num_heads": 4, "head_dim": 64, "width": 256, "tokens_per_block": 64},
    {"num_heads": 4, "head_dim": 64, "width": 256, "tokens_per_block": 9},
]
MIXED = [(1, 1), (1, 63), (7, 7), (0, 5), (5, 20), (1, 8), (0, 0), (30, 41), (1, 100), (3, 129), (1, 300)]


@pytest.fixture(params=["reference", "plain", pytest.param("native", marks=COMPILED)])
def path(request: pytest.FixtureRequest) -> Any:
    if request.param == "native" and not build.load():
        pytest.skip("no C++ compiler built the kernels here")
    return PATHS[request.param]


def expected(batch: Batch, keys_of: Any) -> torch.Tensor:
    """Attention as a model with a KV cache does it, in float32; keys_of(positions, rows)."""
    out = torch.empty_like(batch.query, dtype=torch.float32)
    starts = batch.query_start.tolist()
    for number, text in enumerate(batch.texts):
        first, stop, length = starts[number], starts[number + 1], len(text)
        if first == stop:
            continue
        keys = keys_of(torch.arange(length), text.float()).float()
        values = torch.einsum("nd,dhe->nhe", text.float(), batch.wv.float()) + batch.value_bias.float()
        mask = torch.ones(stop - first, length, dtype=torch.bool).tril(length - (stop - first))
        found = F.scaled_dot_product_attention(
            *(each.transpose(0, 1)[None] for each in (batch.query[first:stop].float(), keys, values)),
            attn_mask=mask,
            scale=batch.scale,
        )
        out[first:stop] = found[0].transpose(0, 1)
    return out


def plain_keys(batch: Batch) -> Any:
    """Keys without positions, with a bias that softmax must drop."""
    bias = torch.linspace(-1, 1, batch.wk.shape[2]).to(batch.wk.dtype)

    def keys(positions: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        return torch.einsum("nd,dhe->nhe", rows, batch.wk.to(rows.dtype)) + bias

    return keys


def turned_keys(batch: Batch) -> Any:
    """Keys that depend on their position."""

    def keys(positions: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        found = torch.einsum("nd,dhe->nhe", rows, batch.wk.to(rows.dtype))
        return found * torch.cos(0.1 * positions)[:, None, None].to(rows.dtype)

    return keys


@pytest.mark.cells(12)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_absorbed_is_attention_over_keys_and_values(path: Any, dtype: str, shape: Any) -> None:
    batch = batch_of(MIXED, dtype, **shape)
    out = batch.poisoned()
    path.attend_absorbed(
        batch.query, batch.query_start, batch.x, batch.wk, batch.wv, batch.value_bias, batch.scale, out
    )
    assert_near(out, expected(batch, plain_keys(batch)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_alone_absorbed_where_keys_have_positions(path: Any, dtype: str) -> None:
    batch = batch_of(MIXED, dtype)
    out, keys = batch.poisoned(), turned_keys(batch)
    path.attend_value_absorbed(
        batch.query, batch.query_start, batch.x, keys, batch.wv, batch.value_bias, batch.scale, out
    )
    assert_near(out, expected(batch, keys))


@pytest.mark.parametrize("dtype", DTYPES)
def test_storing_writes_the_slots_and_nothing_else(path: Any, dtype: str) -> None:
    kind = getattr(torch, dtype)
    before = torch.randn(9, 24 * 5 + 3).to(kind)
    after = before.clone()
    pool = after[:, : 24 * 5].view(9, 5, 24)
    slots = torch.tensor([44, -1, 0, 17, -1, 5])
    x = torch.randn(6, 24).to(kind)
    path.store_x(x, pool, slots)
    rows = before[:, : 24 * 5].view(9, 5, 24)
    for row, slot in zip(x, slots.tolist(), strict=True):
        if slot >= 0:
            rows[slot // 5, slot % 5] = row
    assert torch.equal(after, before)


def test_a_weight_in_the_models_own_order_is_read_by_its_strides(path: Any) -> None:
    batch = batch_of(MIXED, "float32")
    found = []
    for order in ((0, 1, 2), (1, 2, 0)):  # [d, H, hd], and as rows of qkv_proj.weight: [H, hd, d]
        back = [order.index(axis) for axis in range(3)]
        wk, wv = (weight.permute(order).contiguous().permute(back) for weight in (batch.wk, batch.wv))
        found.append(batch.poisoned())
        path.attend_absorbed(batch.query, batch.query_start, batch.x, wk, wv, None, batch.scale, found[-1])
    assert_near(found[0], found[1])


@COMPILED
def test_the_front_door_takes_the_path_of_the_device() -> None:
    batch = batch_of(MIXED, "float32")
    keys = plain_keys(batch)
    found = [batch.poisoned() for _ in range(2)]
    asked = (batch.query, batch.query_start, batch.x)
    absorbed.attend_absorbed(*asked, batch.wk, batch.wv, batch.value_bias, batch.scale, found[0])
    absorbed.attend_value_absorbed(*asked, keys, batch.wv, batch.value_bias, batch.scale, found[1])
    for each in found:
        assert_near(each, expected(batch, keys))
    pool = torch.zeros(2, 3, 4)
    store.store_x(torch.ones(1, 4), pool, torch.tensor([4]))
    assert pool[1, 1].tolist() == [1.0] * 4
    assert pool.sum() == 4


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda: {"block_table": torch.zeros(2, 3)}, "block_table: expected int32"),
        (lambda: {"seq_lens": torch.zeros(5).int()}, r"\[n, max_blocks\] and \[n\]"),
        (lambda: {"pool": torch.zeros(4, 8, 6).transpose(1, 2)}, "rows of a page in a row"),
    ],
)
def test_pages_of_another_shape_are_refused(change: Callable[[], dict[str, torch.Tensor]], said: str) -> None:
    right = {
        "pool": torch.zeros(4, 8, 6),
        "block_table": torch.zeros(2, 3).int(),
        "seq_lens": torch.zeros(2).int(),
    }
    with pytest.raises(ValueError, match=said):
        pages.PagedX(**(right | change()))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda: {"wk": torch.zeros(48, 3, 15)}, r"wk: expected .* = \[48, 3, 16\]"),
        (lambda: {"wv": torch.zeros(48, 3, 16).bfloat16()}, "wv: expected .* of torch.float32"),
        (lambda: {"query_start": torch.zeros(10)}, "query_start: expected int32"),
        (lambda: {"out": torch.zeros(1, 3, 16)}, "query and out"),
        (
            lambda: {"query": torch.zeros(49, 3, 16).bfloat16(), "out": torch.zeros(49, 3, 16)},
            "one number type",
        ),
        (lambda: {"query_start": torch.tensor([0] + [2] * 11).int()}, "1 tokens and 2 queries"),
    ],
)
def test_a_call_that_does_not_fit_is_refused(
    change: Callable[[], dict[str, torch.Tensor]], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("relserve_kernels.absorbed.path_for", lambda device: plain)  # nothing is compiled
    batch = batch_of(MIXED, "float32")
    right = {
        "query": batch.query, "query_start": batch.query_start, "x": batch.x, "wk": batch.wk, "wv": batch.wv,
        "value_bias": None, "scale": 1.0, "out": batch.poisoned(),
    }  # fmt: skip
    with pytest.raises(ValueError, match=said):
        absorbed.attend_absorbed(**(right | change()))


def test_rows_that_do_not_fit_the_pool_are_refused() -> None:
    with pytest.raises(ValueError, match="does not fit the pool"):
        store.store_x(torch.zeros(2, 5), torch.zeros(3, 4, 6), torch.zeros(2, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"slots: expected int64 \[2\]"):
        store.store_x(torch.zeros(2, 6), torch.zeros(3, 4, 6), torch.zeros(3, dtype=torch.int64))


@COMPILED
@pytest.mark.parametrize(("slot", "said"), [(6, "slot 6 is not in the pool"), (-1, "")])
def test_the_compiled_store_keeps_inside_the_pool(slot: int, said: str) -> None:
    if not build.load():
        pytest.skip("no C++ compiler built the kernels here")
    pool = torch.zeros(2, 3, 4)
    if said:
        with pytest.raises(RuntimeError, match=said):
            native.store_x(torch.ones(1, 4), pool, torch.tensor([slot]))
    else:
        native.store_x(torch.ones(1, 4), pool, torch.tensor([slot]))
    assert not pool.any()


def test_without_a_compiler_plain_torch_runs_and_the_log_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    build.load.cache_clear()
    try:
        for _ in range(2):
            assert dispatch.path_for(torch.device("cpu")).__name__ == "relserve_kernels.cpu.plain"
    finally:
        build.load.cache_clear()
    records = [record for record in caplog.records if record.name == "relserve_kernels.cpu.build"]
    (said,) = [record.getMessage() for record in records]
    assert said.startswith("the hidden cache runs in plain torch, which is slower: there is no C++ compiler")


def test_a_compiler_that_fails_is_quoted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    compiler = tmp_path / "c++"
    compiler.write_text("#!/bin/sh\necho 'x.cpp:1: error: no such header' >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    monkeypatch.setenv("CXX", str(compiler))
    build.load.cache_clear()
    try:
        assert not build.load()
    finally:
        build.load.cache_clear()
    assert "x.cpp:1: error: no such header" in caplog.text


@COMPILED
@pytest.mark.cells(10)
@pytest.mark.parametrize("dtype", [*DTYPES, "float16"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", [*SHAPES, {"num_heads": 17, "head_dim": 5, "width": 85}, {"width": 1000}])
def test_the_compiled_attention_takes_any_shape(dtype: str, threads: int, shape: Any) -> None:
    if not build.load() or not torch.ops.relserve_kernels.has_vectors():
        pytest.skip("no C++ compiler built the kernels here, or for a CPU without vectors")
    batch = batch_of([(1, 1), (2, 63), (1, 300), (0, 7), (5, 20)], dtype, **shape)
    weights = (weight.permute(1, 2, 0).contiguous() for weight in (batch.wk, batch.wv))
    x, out, before = batch.x, batch.poisoned(), torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        torch.ops.relserve_kernels.attend_absorbed(
            batch.query, batch.query_start, x.pool, x.block_table, x.seq_lens, *weights, batch.value_bias,
            batch.scale, out,
        )  # fmt: skip
    finally:
        torch.set_num_threads(before)
    assert_near(out, expected(batch, plain_keys(batch)))


@COMPILED
@pytest.mark.parametrize("threads", [1, 2])
def test_the_compiled_store_writes_all_rows_with_any_threads(threads: int) -> None:
    if not build.load():
        pytest.skip("no C++ compiler built the kernels here")
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        pool, x, slots = torch.zeros(40, 16, 8), torch.randn(500, 8), torch.randperm(640)[:500]
        native.store_x(x, pool, slots)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(pool.view(-1, 8)[slots], x)
    assert int(pool.view(-1, 8).any(1).sum()) == 500
