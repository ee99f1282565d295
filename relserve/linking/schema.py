"""A database as a question sees it: tables, columns, keys, references and a few of the values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property


class ColumnKind(StrEnum):
    """What a column holds, as far as comparisons go. Timestamps are dates."""

    TEXT = "text"
    INT = "int"
    NUM = "num"
    DATE = "date"
    BOOL = "bool"
    OTHER = "other"


NUMBERS = (ColumnKind.INT, ColumnKind.NUM)


def quoted(name: str) -> str:
    """Write `name` as an identifier of DuckDB."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Write `text` as a string of SQL."""
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True)
class Reference:
    """The column of another table that a column points to."""

    table: str
    column: str


@dataclass(frozen=True)
class Column:
    """`values` are examples, or all distinct values, of a text column, as far as they were read."""

    name: str
    kind: ColumnKind
    sql_type: str
    comment: str | None = None
    references: Reference | None = None
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """`qualifier`: the names before its own (database, schema). `key`: the columns of its primary key."""

    name: str
    columns: tuple[Column, ...]
    comment: str | None = None
    qualifier: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    num_rows: int | None = None

    @property
    def sql_name(self) -> str:
        return ".".join(quoted(name) for name in (*self.qualifier, self.name))


@dataclass(frozen=True)
class Schema:
    """Some tables. Positions of tables and of columns (table after table) name them in this package."""

    tables: tuple[Table, ...]

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(tuple((table.name, *(column.name for column in table.columns)) for table in self.tables))

    @cached_property
    def columns(self) -> tuple[tuple[Table, Column], ...]:
        """Every column with its table, in order."""
        return tuple((table, column) for table in self.tables for column in table.columns)

    @cached_property
    def table_of(self) -> tuple[int, ...]:
        """For each column the position of its table."""
        return tuple(at for at, table in enumerate(self.tables) for _ in table.columns)

    @cached_property
    def _places(self) -> dict[tuple[str, str], int]:
        return {(table.name, column.name): at for at, (table, column) in enumerate(self.columns)}

    def place(self, table: str, column: str) -> int | None:
        """The position of a column by its names, where the schema has it."""
        return self._places.get((table, column))

    @cached_property
    def _by_name(self) -> dict[str, int]:
        folded = {table.name.casefold(): at for at, table in enumerate(self.tables)}
        return folded | {table.name: at for at, table in enumerate(self.tables)}

    def has(self, name: str) -> bool:
        """Whether a table of that name is here."""
        return name in self._by_name or name.casefold() in self._by_name

    def position(self, name: str) -> int:
        """Find a table by name (as written first, then whatever its case). Raises KeyError."""
        at = self._by_name.get(name)
        return self._by_name[name.casefold()] if at is None else at

    def table(self, name: str) -> Table:
        """The table of that name. Raises KeyError."""
        return self.tables[self.position(name)]
