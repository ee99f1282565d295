"""Which tables a schema's references join, and the FROM clause of a pair."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from relserve.linking.schema import Schema, quoted


class JoinError(ValueError):
    """No reference joins the tables, or several do."""


class JoinStep(NamedTuple):
    """A table that refers to another: pairs of (own column, column of the other), by name."""

    holder: int
    target: int
    columns: tuple[tuple[str, str], ...]


@lru_cache(256)
def steps(schema: Schema) -> tuple[JoinStep, ...]:
    """Every single way from a table to another. Columns that refer to the columns of one key are one way."""
    found: dict[tuple[int, int], list[tuple[str, str]]] = {}
    for (_, column), holder in zip(schema.columns, schema.table_of, strict=True):
        reference = column.references
        if reference is None or not schema.has(reference.table):  # a table not chosen, or not allowed
            continue
        target = schema.position(reference.table)
        if target != holder:
            found.setdefault((holder, target), []).append((column.name, reference.column))
    return tuple(step for ends, pairs in found.items() for step in _ways(*ends, pairs))


def _ways(holder: int, target: int, pairs: list[tuple[str, str]]) -> list[JoinStep]:
    """One step over a key of several columns, or a step a column (home team, away team)."""
    if len({own for _, own in pairs}) == len(pairs):
        return [JoinStep(holder, target, tuple(pairs))]
    return [JoinStep(holder, target, (pair,)) for pair in pairs]


@lru_cache(256)
def routes(schema: Schema) -> dict[tuple[int, int], tuple[JoinStep, ...]]:
    """The steps that join each pair of tables, where there is exactly one shortest way of at most two.

    A pair stands as the answer language writes it: the table that refers first, and the earlier one first
    where a third table lies between.
    """
    found: dict[tuple[int, int], tuple[JoinStep, ...]] = {}
    for pair in combinations(range(len(schema.tables)), 2):
        direct = [(step,) for step in steps(schema) if {step.holder, step.target} == set(pair)]
        ways = direct or _over_a_bridge(schema, *pair)
        if len(ways) == 1 and _are_told_apart(schema, ways[0]):
            found[(direct[0][0].holder, direct[0][0].target) if direct else pair] = ways[0]
    return found


def _are_told_apart(schema: Schema, way: tuple[JoinStep, ...]) -> bool:
    """Whether the tables on a way have different names: columns are written after the table's own name."""
    ends = {end for step in way for end in (step.holder, step.target)}
    return len({schema.tables[end].name.casefold() for end in ends}) == len(ends)


def _over_a_bridge(schema: Schema, left: int, right: int) -> list[tuple[JoinStep, ...]]:
    return [
        (first, second)
        for first in steps(schema)
        for second in steps(schema)
        if left in (first.holder, first.target) and right in (second.holder, second.target)
        if _other(first, left) == _other(second, right)
    ]


def _other(step: JoinStep, table: int) -> int:
    return step.target if step.holder == table else step.holder


def route(schema: Schema, left: int, right: int) -> tuple[JoinStep, ...]:
    """The steps that join two tables, in whichever order they are named. Raises JoinError."""
    known = routes(schema)
    way = known.get((left, right)) or known.get((right, left))
    if way is None:
        names = f'"{schema.tables[left].name}" and "{schema.tables[right].name}"'
        raise JoinError(f"no single way over foreign keys joins {names}")
    return way


def from_clause(schema: Schema, tables: tuple[int, ...]) -> str:
    """FROM .. JOIN .. ON for one table or two."""
    first = schema.tables[tables[0]]
    text = f"FROM {first.sql_name}"
    if len(tables) == 1:
        return text
    way = route(schema, *tables)
    joined = [tables[0]]
    for step in way if tables[0] in (way[0].holder, way[0].target) else reversed(way):
        new = step.target if step.holder in joined else step.holder
        text += f" JOIN {schema.tables[new].sql_name} ON {_condition(schema, step)}"
        joined.append(new)
    return text


def _condition(schema: Schema, step: JoinStep) -> str:
    holder, target = schema.tables[step.holder].name, schema.tables[step.target].name
    return " AND ".join(
        f"{quoted(holder)}.{quoted(own)} = {quoted(target)}.{quoted(key)}" for own, key in step.columns
    )
