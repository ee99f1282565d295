"""The kernel that reads X once, under Triton's interpreter: against the reference, and what it loads.

test_once.py runs this in a process of its own with TRITON_INTERPRET=1, which Triton reads once. The
interpreter runs a grid's programs one after the other; here each has a thread, as its parts wait for others.
"""

from __future__ import annotations

import inspect
import threading
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from relserve_kernels import reference
from relserve_kernels.gpu import path
from relserve_kernels.gpu.tiles import Tile, Tiles
from triton.runtime import interpreter

from lab.kernels import once
from tests.kernels.paged import Batch, assert_near, batch_of

BATCH = [(1, 1), (1, 50), (0, 5), (2, 17), (0, 0), (1, 16)]
SHAPES: list[dict[str, int]] = [  # one part, and three
    {"num_heads": 1, "head_dim": 31, "width": 31, "gap": 5},
    {"num_heads": 17, "head_dim": 5, "width": 85, "tokens_per_block": 16},
]
TILE = Tile(16, 32, 4, 1)
ONCE, TWICE = partial(once.mix_x, tile=TILE), partial(path.mix_x, tiles=Tiles(32, TILE, TILE))


class SideBySide:
    """In place of a kernel's function: each program in a thread; the grid's last one waits for all."""

    def __init__(self, function: Any) -> None:
        self.function, self.threads, self.failed = function, [], []
        self.__name__, self.__globals__ = function.__name__, function.__globals__
        self.__signature__ = inspect.signature(function)

    def __call__(self, **arguments: Any) -> None:
        """Begin one program."""
        self.threads.append(threading.Thread(target=self.run, args=(arguments,), daemon=True))
        self.threads[-1].start()
        builder = interpreter.interpreter_builder
        if builder.grid_idx[0] + 1 == builder.grid_dim[0]:
            for thread in self.threads:
                thread.join()
            assert not self.failed, self.failed

    def run(self, arguments: dict[str, Any]) -> None:
        """One program; an error is kept."""
        try:
            self.function(**arguments)
        except Exception as error:
            self.failed.append(error)


@pytest.fixture(autouse=True)
def side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs of `mix_once` run at the same time."""
    begin = interpreter.GridExecutor.__init__

    def beginning(executor: Any, function: Any, names: list[str], *args: Any) -> None:
        begin(executor, function, names, *args)
        if names == once.mix_once.arg_names:
            executor.fn = SideBySide(function)

    monkeypatch.setattr(interpreter.GridExecutor, "__init__", beginning)


def attend(batch: Batch, mix: Any, monkeypatch: pytest.MonkeyPatch) -> torch.Tensor:
    """What the path of a GPU finds with these sums of X."""
    monkeypatch.setattr(path, "mix_x", mix)
    found = batch.poisoned()
    arguments = batch.wk, batch.wv, batch.value_bias, batch.scale, found
    path.attend_absorbed(batch.query, batch.query_start, batch.x, *arguments)
    return found


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("shape", SHAPES)
def test_parts_of_a_query_find_what_the_reference_finds(
    dtype: str, shape: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = batch_of(BATCH, dtype, **shape)
    found = attend(batch, ONCE, monkeypatch)
    expected = batch.poisoned()
    arguments = batch.wk, batch.wv, batch.value_bias, batch.scale, expected
    reference.attend_absorbed(batch.query, batch.query_start, batch.x, *arguments)
    assert_near(found, expected)


@pytest.mark.parametrize(("mix", "times"), [(ONCE, 1), (TWICE, 2)])
def test_how_often_each_number_of_x_is_loaded(mix: Any, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = batch_of([(1, 1), (1, 33)], "float32", width=80)
    pool, builder = batch.x.pool, interpreter.interpreter_builder
    loads, load = torch.zeros(pool.shape, dtype=torch.int32), builder.create_masked_load

    def counted(pointers: Any, mask: Any, *args: Any) -> Any:
        places = (pointers.data.astype(np.int64) - pool.data_ptr()) // pool.element_size()
        inside = np.asarray(mask.data, bool) & (places >= 0) & (places < pool.numel())
        np.add.at(loads.view(-1).numpy(), places[inside], 1)
        return load(pointers, mask, *args)

    monkeypatch.setattr(builder, "create_masked_load", counted)
    attend(batch, mix, monkeypatch)
    expected = torch.zeros_like(loads)
    for sequence, text in enumerate(batch.texts):
        for place in range(len(text)):
            page = batch.x.block_table[sequence, place // batch.x.tokens_per_block]
            expected[page, place % batch.x.tokens_per_block] = times
    assert torch.equal(loads, expected)
