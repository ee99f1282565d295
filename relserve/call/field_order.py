"""The order of a row's fields that lets the prefix cache serve most, where the template leaves it free."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relserve.call.prefix_share import BLOCK, prefix_share
from relserve.call.template import text_of


def best_field_order(columns: Sequence[Sequence[str]]) -> list[int]:
    """Positions of the columns, the one first whose repeated values save most characters.

    Greedy: rows are thought sorted, so a value that repeats below the same values of the columns before it is
    computed once; the next column is the one that saves most so (after Liu et al., "Optimizing LLM Queries in
    Relational Workloads", with one order for all rows). Columns that save nothing keep their order.

    Args:
        columns: the texts of each column, all of the same length.
    """
    left = list(range(len(columns)))
    groups = [0] * (len(columns[0]) if columns else 0)
    order: list[int] = []
    while left:
        best = max(left, key=lambda i: (_saved(groups, columns[i]), -i))
        left.remove(best)
        order.append(best)
        numbers: dict[tuple[int, str], int] = {}
        groups = [
            numbers.setdefault((group, value), len(numbers))
            for group, value in zip(groups, columns[best], strict=True)
        ]
    return order


def free_rows(rows: Sequence[Sequence[Any]], slots: Sequence[int]) -> list[list[Any]]:
    """Rows whose values in `slots`, where those are whole rows, have fields in the best order for all."""
    free = [list(row) for row in rows]
    for slot in slots:
        records = [row[slot] for row in free if row[slot] is not None]
        if not records or not all(isinstance(record, dict) for record in records):
            continue
        names = list(records[0])
        if any(record.keys() != records[0].keys() for record in records):
            continue
        order = best_field_order([[str(record[name]) for record in records] for name in names])
        better = [{names[i]: record[names[i]] for i in order} for record in records]
        if _share(better) > _share(records):
            for row, record in zip([row for row in free if row[slot] is not None], better, strict=True):
                row[slot] = record
    return free


def _share(records: Sequence[dict[str, Any]]) -> float:
    """The share of the records' text that a prefix cache would serve, a block being about 16 tokens."""
    return prefix_share(sorted({text_of(record) for record in records}), 4 * BLOCK)


def _saved(groups: Sequence[int], values: Sequence[str]) -> int:
    seen: set[tuple[int, str]] = set()
    saved = 0
    for key in zip(groups, values, strict=True):
        if key in seen:
            saved += len(key[1])
        seen.add(key)
    return saved
