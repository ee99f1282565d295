"""Rows to judge an answer by: a small database with a question's values, so that few results are empty.

Groups are of different sizes, numbers and dates lie around those of the question and hit them at times (so
that `>` and `>=` differ), and one value in sixteen is missing.
"""

import random
from collections.abc import Callable, Sequence
from datetime import date

from relserve.linking.literals import QuestionValue, ValueKind
from relserve.linking.schema import Column, ColumnKind, Schema, Table

NUM_ROWS = 60
NULL_SHARE = 1 / 16
PLAIN_TEXTS = ("amber", "birch", "cedar", "dune", "ember", "fjord")
Cell = str | int | float | bool | date | None


def database(
    schema: Schema, values: Sequence[QuestionValue], seed: str, num_rows: int = NUM_ROWS
) -> dict[str, list[tuple[Cell, ...]]]:
    """The rows of every table, by its name; another seed gives other rows."""
    rng = random.Random(seed)
    keys = _keys(schema)
    numbers = _numbers_of_rows(values, num_rows)
    return {table.name: _rows(rng, schema, table, keys, values, numbers) for table in schema.tables}


def _numbers_of_rows(values: Sequence[QuestionValue], num_rows: int) -> list[int]:
    """What keys count by: 1, 2, 3, and the question's own whole numbers."""
    asked = [int(value.text) for value in values if value.is_count and int(value.text) > num_rows]
    return [*range(1, num_rows + 1 - len(set(asked))), *sorted(set(asked))]


def _keys(schema: Schema) -> set[tuple[str, str]]:
    """Columns of which no two rows have the same value."""
    keys = {(table.name, name) for table in schema.tables for name in table.key if len(table.key) == 1}
    for table, column in schema.columns:
        if column.references is not None:
            keys.add((column.references.table, column.references.column))
        elif column.name.casefold() == "id":
            keys.add((table.name, column.name))
    return keys


def _rows(
    rng: random.Random,
    schema: Schema,
    table: Table,
    keys: set[tuple[str, str]],
    values: Sequence[QuestionValue],
    numbers: Sequence[int],
) -> list[tuple[Cell, ...]]:
    columns: list[list[Cell]] = []
    for column in table.columns:
        if (table.name, column.name) in keys and column.references is None:
            columns.append(_key_cells(column, numbers))
            continue
        draw = _drawer(rng, table, column, values, numbers)
        columns.append([None if rng.random() < NULL_SHARE else draw() for _ in numbers])
    return list(zip(*columns, strict=True))


def _key_cells(column: Column, numbers: Sequence[int]) -> list[Cell]:
    return [f"k{number:03d}" if column.kind is ColumnKind.TEXT else number for number in numbers]


def _drawer(
    rng: random.Random, table: Table, column: Column, values: Sequence[QuestionValue], numbers: Sequence[int]
) -> Callable[[], Cell]:
    if column.references is not None:
        prefix = "k{:03d}".format if column.kind is ColumnKind.TEXT else int
        return lambda: prefix(numbers[int(len(numbers) * rng.random() ** 2)])
    if column.kind is ColumnKind.TEXT:
        return _texts(rng, table, column, values)
    if column.kind in (ColumnKind.INT, ColumnKind.NUM):
        return _numbers(rng, column, values)
    if column.kind is ColumnKind.DATE:
        return _dates(rng, values)
    return (lambda: rng.random() < 0.5) if column.kind is ColumnKind.BOOL else lambda: None


def _texts(
    rng: random.Random, table: Table, column: Column, values: Sequence[QuestionValue]
) -> Callable[[], Cell]:
    own = list(column.values or PLAIN_TEXTS)
    rng.shuffle(own)
    weights = [1 / (at + 1) for at in range(len(own))]
    known = [spelling for value in values for spelling in value.spellings(table.name, column.name)]
    asked = [value.text for value in values if value.kind is ValueKind.TEXT and not value.hits]

    def draw() -> Cell:
        if known and rng.random() < 0.35:
            return rng.choice(known)
        text = rng.choices(own, weights)[0]
        if asked and rng.random() < 0.3:
            word = rng.choice(asked)
            return rng.choice((word, word, f"{text} {word}", f"{word} {text}"))
        return text

    return draw


def _numbers(rng: random.Random, column: Column, values: Sequence[QuestionValue]) -> Callable[[], Cell]:
    asked = [float(value.text) for value in values if value.kind in (ValueKind.NUMBER, ValueKind.YEAR)]
    is_year = "year" in column.name.casefold()
    years = [number for number in asked if 1500 <= number <= 2200]

    def draw() -> Cell:
        if is_year:
            return int(rng.choice(years) + rng.randint(-3, 3)) if years else rng.randint(1960, 2024)
        base = rng.choice(asked) if asked and rng.random() < 0.7 else rng.choice((10, 100, 1000))
        number = base if rng.random() < 0.2 and base in asked else base * rng.uniform(0.3, 1.8)
        return round(number) if column.kind is ColumnKind.INT else round(number, 2)

    return draw


def _dates(rng: random.Random, values: Sequence[QuestionValue]) -> Callable[[], Cell]:
    days = [day for value in values if value.kind is ValueKind.DATE for day in value.period or ()]
    years = [int(value.text) for value in values if value.kind is ValueKind.YEAR] + [day.year for day in days]

    def draw() -> Cell:
        if days and rng.random() < 0.15:
            return rng.choice(days)
        year = (
            rng.choice(years) + rng.randint(-2, 2)
            if years and rng.random() < 0.8
            else rng.randint(1995, 2025)
        )
        return date(year, rng.randint(1, 12), rng.randint(1, 28))

    return draw
