"""The share of prompts that a prefix cache serves, against a plain reference."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relserve.call.prefix_share import BLOCK, prefix_share

HEAD = tuple(range(100, 100 + 2 * BLOCK))


@pytest.mark.parametrize(
    ("rows", "shared"),
    [
        ([], 0),
        ([()], 0),
        ([HEAD], 0),  # the first finds nothing
        ([(*HEAD, 1), (*HEAD, 2)], 2 * BLOCK),
        ([(*HEAD, 1), (*HEAD[:-1], 2, 3)], BLOCK),  # one token differs: its block is computed
        ([HEAD, HEAD], BLOCK),  # the last token of a prompt is always computed, and its block with it
        ([(1, *HEAD), (2, *HEAD)], 0),  # only what stands at the front counts
        ([(*HEAD, 1), (0,) * 40, (*HEAD, 2)], 2 * BLOCK),  # nothing is forgotten
        ([(1, 2, 3), (1, 2, 4)], 0),  # less than a block
    ],
)
def test_cases(rows: list[tuple[int, ...]], shared: int) -> None:
    total = sum(map(len, rows))
    assert prefix_share(rows) == (shared / total if total else 0)


def test_text_counts_by_characters() -> None:
    rows = ["Rate this beer from 1 to 5: fine", "Rate this beer from 1 to 5: sour"]
    assert prefix_share(rows, block=4) == 28 / 64


def reference(rows: list[tuple[int, ...]], block: int) -> float:
    """The longest run of whole blocks that some earlier prompt begins with."""
    total = sum(map(len, rows))
    shared = 0
    for i, row in enumerate(rows):
        cached = 0
        while (end := cached + block) < len(row) and any(
            len(old) >= end and old[:end] == row[:end] for old in rows[:i]
        ):
            cached = end
        shared += cached
    return shared / total if total else 0.0


@given(
    st.lists(st.lists(st.integers(0, 1), max_size=14).map(tuple), max_size=12),
    st.integers(1, 5),
)
def test_equals_the_reference(rows: list[tuple[int, ...]], block: int) -> None:
    assert prefix_share(rows, block) == pytest.approx(reference(rows, block))
