"""A schema as a prompt shows it: CREATE TABLE statements with keys, comments and examples of values."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from relserve.linking.schema import Column, Schema, Table
from relserve.text2sql.prompts.quoting import as_data, is_speakable, name_text

SHOWN_VALUES = 3
_QUOTES = frozenset("'\"")


@lru_cache(256)
def schema_text(schema: Schema) -> str:
    """All tables of a schema; those with names that cannot stand in a prompt are left out."""
    names = {table.name for table in schema.tables}
    return "\n".join(_table_text(table, names) for table in schema.tables if is_speakable(table.name))


def table_name(table: Table) -> str:
    """A table as SQL names it."""
    return ".".join(name_text(name) for name in (*table.qualifier, table.name))


def _table_text(table: Table, shown: Collection[str]) -> str:
    lines = [(_column_text(column), _remark(column)) for column in table.columns if is_speakable(column.name)]
    if table.key:
        lines.append((f"PRIMARY KEY ({', '.join(map(name_text, table.key))})", ""))
    for column in table.columns:
        points_to = column.references
        if points_to is not None and points_to.table in shown:
            target = f"{name_text(points_to.table)} ({name_text(points_to.column)})"
            lines.append((f"FOREIGN KEY ({name_text(column.name)}) REFERENCES {target}", ""))
    ends = [","] * (len(lines) - 1) + [""]
    body = "\n".join(f"  {text}{end}{remark}" for (text, remark), end in zip(lines, ends, strict=False))
    about = [] if table.comment is None else [as_data(table.comment)]
    about += [] if table.num_rows is None else [f"{table.num_rows:,} rows"]
    return f"CREATE TABLE {table_name(table)} (\n{body}\n);" + (f" -- {', '.join(about)}" if about else "")


def _column_text(column: Column) -> str:
    """A column and its type; only the head of a type that holds texts of the user: ENUM's, quoted names."""
    full, head = column.sql_type, column.sql_type.partition("(")[0]
    is_plain = is_speakable(full) and not _QUOTES & set(full)
    return f"{name_text(column.name)} {full if is_plain else head}"


def _remark(column: Column) -> str:
    about = [] if column.comment is None else [as_data(column.comment)]
    if column.values:
        about.append("e.g. " + ", ".join(as_data(value, 40) for value in column.values[:SHOWN_VALUES]))
    return f" -- {'; '.join(about)}" if about else ""
