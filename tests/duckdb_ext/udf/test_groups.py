"""Groups read from lists: equal ones once, NULLs left out, in order where asked for."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest
from relserve_duckdb.udf.site import distinct_groups

TEXTS = pa.list_(pa.string())
LISTS = [
    ["b", "a"],
    ["b", "a"],
    None,
    [],
    [None],
    ["ba"],
    ["b", None, "a"],
    ["", "ba"],
    ["b", "a"],
    ["a", "b"],
]


def read(column: Any, ascending: bool = False) -> list[Any]:
    groups, numbers = distinct_groups(column, ascending)
    return [groups[number] for number in numbers]


@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize(
    "kind", [TEXTS, pa.list_(pa.large_string()), pa.large_list(pa.string()), pa.list_(pa.string_view())]
)
def test_every_row_has_its_list_without_nulls(kind: pa.DataType, ascending: bool) -> None:
    expected = [[text for text in texts or () if text is not None] or None for texts in LISTS]
    if ascending:
        expected = [sorted(texts) if texts else None for texts in expected]
    whole = pa.array(LISTS, kind)
    assert read(whole, ascending) == expected
    assert read(pa.chunked_array([whole[:3], whole[3:]]), ascending) == expected
    assert read(whole[2:7], ascending) == expected[2:7]
    assert read(whole[:0], ascending) == []


def test_equal_lists_are_one_and_alike_ones_are_not() -> None:
    groups, numbers = distinct_groups(pa.array(LISTS, TEXTS), False)
    assert numbers == [0, 0, 1, 2, 3, 4, 5, 6, 0, 7]
    assert len(groups) == 8
    # the same characters, cut in other places
    groups, numbers = distinct_groups(pa.array([["ab", "c"], ["a", "bc"], ["ab", "c"]], TEXTS), False)
    assert (groups, numbers) == ([["ab", "c"], ["a", "bc"]], [0, 1, 0])


def test_lists_as_duckdb_hands_them_over() -> None:
    sql = "SELECT list('text ' || i) OVER (PARTITION BY i % 3) AS l FROM range(3000) t(i)"
    column = duckdb.sql(sql).to_arrow_table().column("l")
    groups, numbers = distinct_groups(column, True)
    assert [groups[i] for i in numbers] == [sorted(texts) for texts in column.to_pylist()]
    assert len(groups) == 3
