"""A column that holds one text over and over is told from one that does not, however its bytes lie."""

from __future__ import annotations

import pyarrow as pa
import pytest

from relserve.call.values import MOST_REPEATED, constant_of

LONG = "x" * (MOST_REPEATED // 2)
BYTES = "\u00e9\U0001f600"  # six in UTF-8


@pytest.mark.parametrize(
    ("texts", "value"),
    [
        (["ab"] * 5, "ab"), ([BYTES] * 3, BYTES), ([""] * 3, ""), (["a"], "a"), ([LONG] * 3, LONG),
    ],
    ids=["letters", "more bytes", "empty", "one row", "too long for a glance"],
)  # fmt: skip
def test_a_constant_is_found(texts: list[str], value: str) -> None:
    whole = pa.array(["before", *texts])
    for column in (pa.array(texts), whole.slice(1), pa.chunked_array([pa.array(texts)]),
                   pa.chunked_array([pa.array(texts), pa.array(texts)])):  # fmt: skip
        assert constant_of(column) == (True, value)


@pytest.mark.parametrize(
    "texts",
    [
        ["ab", "ab", "ac"], ["a", "aa", ""], ["aa", "", "a"], ["a", "b"], ["a", None],
        [LONG, LONG, LONG[:-1] + "y"],
    ],
    ids=["the last", "same bytes", "same bytes, the first longer", "the second", "NULL", "long"],
)  # fmt: skip
def test_what_varies_is_found(texts: list[str | None]) -> None:
    assert constant_of(pa.array(texts)) == (False, texts[0])


def test_all_null_is_a_constant() -> None:
    assert constant_of(pa.nulls(3, pa.string())) == (True, None)
    assert constant_of(pa.array([None, "a"])) == (False, None)
