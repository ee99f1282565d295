"""Columns read at a glance and made in one go: constants are told from others, answers stay as they are."""

from __future__ import annotations

import pyarrow as pa
import pytest

from relserve.call.values import MOST_REPEATED, constant_of, to_arrow

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


@pytest.mark.parametrize(
    "values",
    [
        ["a", "", "bc"],
        ["a", BYTES, ""],
        ["a", None, "b"],
        [None, None],
        [None, "a"],
        [],
        [""],
        ["half \ud83d"],
    ],
)
def test_answers_become_a_column(values: list[str | None]) -> None:
    column = to_arrow(values, pa.string())
    assert column.type == pa.string()
    column.validate(full=True)
    assert column.to_pylist() == [None if v is None else v.replace("\ud83d", "?") for v in values]


@pytest.mark.parametrize("values", [[None, None], [True, None, False], [], [True, False, None] * 11])
def test_answers_that_are_no_texts_become_one_too(values: list[bool | None]) -> None:
    column = to_arrow(values, pa.bool_())
    column.validate(full=True)
    assert column.to_pylist() == values
