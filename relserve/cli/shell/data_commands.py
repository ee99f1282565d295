"""The dot commands about data and models: .tables, .schema, .import, .open, .queries, .errors and .models."""

from __future__ import annotations

import os
import re
from pathlib import Path

import duckdb
from relserve_duckdb.text.lexical import NAME

from relserve.cli.data_files import scan_of
from relserve.cli.models import models_page
from relserve.cli.shell.command import Command
from relserve.cli.shell.shell import Shell
from relserve.errors import UsageError
from relserve.linking.schema import quoted

_TABLES = """
SELECT CASE WHEN database_name IN (system.main.current_database(), 'temp')
                 AND schema_name = system.main.current_schema() THEN name
            ELSE system.main.concat_ws(
                '.', system.main.nullif(database_name, system.main.current_database()), schema_name, name
            ) END AS name,
       kind, column_count AS columns, estimated_size AS estimated_rows
FROM (SELECT database_name, schema_name, table_name AS name, column_count, estimated_size,
             CASE WHEN temporary THEN 'temp table' ELSE 'table' END AS kind
      FROM system.main.duckdb_tables() WHERE NOT internal
      UNION ALL BY NAME
      SELECT database_name, schema_name, view_name AS name, column_count,
             CASE WHEN temporary THEN 'temp view' ELSE 'view' END AS kind
      FROM system.main.duckdb_views() WHERE NOT internal)
WHERE system.main."~~*"(name, $1) ORDER BY ALL
"""
_SCHEMA = """
SELECT sql FROM (
    SELECT 1 AS nth, sequence_name AS name, sql FROM system.main.duckdb_sequences()
    UNION ALL SELECT 2, table_name, sql FROM system.main.duckdb_tables() WHERE NOT internal
    UNION ALL SELECT 3, view_name, sql FROM system.main.duckdb_views() WHERE NOT internal
    UNION ALL SELECT 4, table_name, sql FROM system.main.duckdb_indexes())
WHERE sql IS NOT NULL AND system.main."~~*"(name, $1) ORDER BY nth, name
"""
_QUERIES = """
SELECT statement, function, rows, system.main."-"(distinct_prompts, cached_answers) AS asked,
       failed_rows AS failed, prompt_tokens AS tokens_in, output_tokens AS tokens_out,
       system.main.round(seconds, 2) AS seconds, system.main.round(waiting_s, 2) AS waiting_s,
       system.main.round(core_s, 2) AS core_s, system.main.round(tail_s, 2) AS tail_s
FROM llm_queries()
"""
_ERRORS = "SELECT statement, function, kind, rows, message, prompt FROM llm_errors()"
_PART = rf"(?:[^\W\d]\w*+|{NAME})"
_PLAIN = re.compile(rf"{_PART}(?:\.{_PART})*+")


def tables(shell: Shell, arguments: list[str]) -> None:
    """Show the tables and views."""
    pattern = arguments[0] if arguments else "%"
    otherwise = "no tables" if pattern == "%" else f"no table's name is like {pattern!r}"
    _show(shell, _TABLES, otherwise, [pattern])


def schema(shell: Shell, arguments: list[str]) -> None:
    """Show the statements that made the tables, views, indexes and sequences."""
    name = arguments[0] if arguments else "%"
    rows = shell.ask(_SCHEMA, [name]).rows
    assert rows is not None
    if not rows.num_rows:
        none = f"there is no table {name!r}; .tables lists all"
        raise UsageError("there are no tables" if name == "%" else none)
    shell.display.say("\n".join(text.rstrip(";") + ";" for text in rows.column(0).to_pylist()))


def import_file(shell: Shell, arguments: list[str]) -> None:
    """Put a file's rows into a table, which is made if it is not there."""
    path, table = os.path.expanduser(arguments[0]), arguments[1]  # or a URL
    name = table if _PLAIN.fullmatch(table) else quoted(table)
    source = scan_of(path)
    try:
        shell.ask(f"DESCRIBE {name}")
    except duckdb.CatalogException:
        shell.run(f"CREATE TABLE {name} AS FROM {source}")
    else:
        shell.run(f"INSERT INTO {name} FROM {source}")


def open_database(shell: Shell, arguments: list[str]) -> None:
    """Close the database and open another; without a name one in memory."""
    shell.open(Path(arguments[0]).expanduser() if arguments else None)


def queries(shell: Shell, arguments: list[str]) -> None:
    """Show what each llm call took."""
    _show(shell, _QUERIES, "no llm function has been asked")


def errors(shell: Shell, arguments: list[str]) -> None:
    """Show the rows that failed."""
    _show(shell, _ERRORS, "no row has failed")


def models(shell: Shell, arguments: list[str]) -> None:
    """Show which models a call can name."""
    shell.display.say(models_page())


def _show(shell: Shell, query: str, otherwise: str, parameters: object = None) -> None:
    rows = shell.ask(query, parameters).rows
    assert rows is not None
    if rows.num_rows:
        shell.display.show(rows)
    else:
        shell.display.say(otherwise)


COMMANDS = (
    Command(".tables", "[PATTERN]", "tables and views; of PATTERN, % stands for any text", tables),
    Command(".schema", "[TABLE]", "the statements that made tables, views, indexes and sequences", schema),
    Command(
        ".import",
        "FILE TABLE",
        "put a file's rows (CSV, JSON, Parquet) into a table, new or old",
        import_file,
    ),
    Command(".open", "[FILE]", "close the database, open another; without FILE one in memory", open_database),
    Command(".queries", "", "what each llm call took: llm_queries(), its main columns", queries),
    Command(".errors", "", "rows that failed, and why: llm_errors(), its main columns", errors),
    Command(".models", "", "which models a call can name, and which one is the default", models),
)
