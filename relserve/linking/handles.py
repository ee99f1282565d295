"""Short names, one token each, that stand for tables and columns: the model copies them."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from relserve.linking.schema import Schema

MAX_COLUMNS = 40
MAX_TABLES = 8
MAX_VALUES = 10


class TooLargeError(ValueError):
    """The schema has more tables or columns than there are handles."""


class Handles(NamedTuple):
    """The handle of each column and of each table, by position in the schema."""

    columns: tuple[str, ...]
    tables: tuple[str, ...]

    def column(self, handle: str) -> int | None:
        """The position of the column with this handle."""
        return self.columns.index(handle) if handle in self.columns else None

    def table(self, handle: str) -> int | None:
        """The position of the table with this handle."""
        return self.tables.index(handle) if handle in self.tables else None


def assign(schema: Schema, shuffle: Random | None = None) -> Handles:
    """Hand out handles in order, or in an order of chance. Raises TooLargeError."""
    return Handles(
        _names("c", len(schema.columns), MAX_COLUMNS, "columns", shuffle),
        _names("t", len(schema.tables), MAX_TABLES, "tables", shuffle),
    )


def _names(letter: str, count: int, most: int, what: str, shuffle: Random | None) -> tuple[str, ...]:
    if count > most:
        raise TooLargeError(
            f"{count} {what}, but the model has handles for {most}: choose some of them first"
        )
    numbers = range(count) if shuffle is None else shuffle.sample(range(most), count)
    return tuple(f"{letter}{number}" for number in numbers)
