"""The names in a database, for completion."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import duckdb

from relserve.linking.schema import quoted

_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_COLUMNS = """
SELECT CASE WHEN database_name NOT IN (system.main.current_database(), 'temp') THEN database_name END,
       CASE WHEN schema_name <> system.main.current_schema() AND database_name <> 'temp' THEN schema_name END,
       table_name, system.main.list(column_name ORDER BY column_index),
       system.main.list(data_type ORDER BY column_index)
FROM system.main.duckdb_columns() WHERE NOT internal GROUP BY ALL ORDER BY ALL
"""
_FUNCTIONS = """
SELECT function_name, system.main.min(function_type) FROM system.main.duckdb_functions()
WHERE system.main.regexp_full_match(function_name, '[a-z]\\w*') GROUP BY ALL ORDER BY ALL
"""
_KEYWORDS = "SELECT keyword_name, keyword_category FROM system.main.duckdb_keywords() ORDER BY ALL"
_SETTINGS = "SELECT name, description FROM system.main.duckdb_settings() ORDER BY ALL"


class CompletionNames(NamedTuple):
    """What can be named, each as it would be written.

    Attributes:
        tables: of each table or view its columns with their types.
        functions: DuckDB's and relserve's, with what each is (scalar, aggregate, table, macro, ..).
        settings: with their description.
        keywords: with their category (reserved, ..).
    """

    tables: Mapping[str, Mapping[str, str]]
    functions: Mapping[str, str]
    settings: Mapping[str, str]
    keywords: Mapping[str, str]


def read_names(con: duckdb.DuckDBPyConnection) -> CompletionNames:
    """The names on a connection that runs nothing now; none while a failed transaction is open."""
    try:
        keywords = dict(con.execute(_KEYWORDS).fetchall())
        tables: dict[str, dict[str, str]] = {}
        for database, schema, table, columns, types in con.execute(_COLUMNS).fetchall():
            path = [each for each in (database, schema, table) if each is not None]
            name = ".".join(as_written(each, keywords) for each in path)
            written = (as_written(column, keywords) for column in columns)
            tables[name] = dict(zip(written, types, strict=True))
        functions = dict(con.execute(_FUNCTIONS).fetchall())
        return CompletionNames(tables, functions, dict(con.execute(_SETTINGS).fetchall()), keywords)
    except duckdb.Error:
        return CompletionNames({}, {}, {}, {})


def as_written(name: str, keywords: Mapping[str, str]) -> str:
    """A name, in quotes where it would be read as something else without."""
    is_plain = _PLAIN_NAME.fullmatch(name) and keywords.get(name.lower()) != "reserved"
    return name if is_plain else quoted(name)
