"""The command line: `relserve demo`, `relserve sql`, `relserve models`."""

from __future__ import annotations

import json
import sys
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import duckdb
import pyarrow as pa
import pyarrow.csv
import typer
from rich.console import Console
from rich.table import Table

import relserve
from relserve import api, demo
from relserve.engines import registry
from relserve.errors import Cancelled, RelserveError
from relserve.settings import load

app = typer.Typer(
    name="relserve",
    help="LLM functions in SQL: llm(), llm_filter(), llm_classify(), llm_score() on DuckDB tables.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)

MAX_CELL = 100  # characters of a cell that a table shows
PLAIN_WIDTH = 140  # columns where the output is not a terminal
MAX_ROWS = 40  # rows that a table shows


class Format(StrEnum):
    """How a result is written."""

    table = "table"
    csv = "csv"
    json = "json"
    arrow = "arrow"


Model = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="'tiny', a folder, a hub id or a URL; see `relserve models`."),
]
Database = Annotated[Path | None, typer.Option("--db", help="DuckDB database file (default: in memory).")]


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """LLM functions in SQL, answered by a local vLLM or any OpenAI-compatible server."""
    if version:
        print(f"relserve {relserve.__version__} (duckdb {duckdb.__version__})")
        raise typer.Exit


@app.command("demo")
def demo_command(model: Model = None) -> None:
    """Run the example queries on the shipped tables and show what each cost."""
    console = _console()
    started = time.monotonic()
    con = api.connect(model=model)
    for query in demo.prepare(con):
        console.print(f"\n-- {query.title}", style="bold", highlight=False, markup=False)
        console.print(query.sql, style="cyan", highlight=False, markup=False, soft_wrap=True)
        _print_table(console, _rows(con, query.sql))
    console.print("\n[bold]-- What each of these relQueries took: llm_queries()[/bold]")
    _print_table(console, _rows(con, demo.STATS))
    con.close()
    console.print(f"\nDone in {time.monotonic() - started:.0f} s. Your own data: relserve sql --help")


@app.command("sql")
def sql_command(
    text: Annotated[str, typer.Argument(help="One or more statements, or - to read them from stdin.")],
    db: Database = None,
    model: Model = None,
    format: Annotated[Format, typer.Option(help="How to write the result.")] = Format.table,
    examples: Annotated[bool, typer.Option(help="Open with the shipped example tables.")] = False,
    stats: Annotated[bool, typer.Option(help="Show llm_queries() on stderr at the end.")] = False,
) -> None:
    """Run SQL with llm functions.

    Examples:

    * `relserve sql "SELECT llm('Capital of {}?', c) FROM (VALUES ('France')) t(c)"`
    * `relserve sql --examples "SELECT review, llm_score('Stars? {}', review) FROM reviews LIMIT 5"`
    * `relserve sql --db shop.db --model http://127.0.0.1:8000/v1 --format csv "SELECT .." > out.csv`

    Files are read in place: `FROM 'reviews.csv'`. A failed row is NULL; `FROM llm_errors()` says why.
    """
    statements = sys.stdin.read() if text == "-" else text
    con = api.connect(str(db) if db else ":memory:", model=model)
    if examples:
        demo.prepare(con)
    relation = con.sql(statements)
    if relation is not None:
        _write(relation.to_arrow_table(), format)
    if stats:
        _print_table(_console(stderr=True), _rows(con, demo.STATS))
    con.close()


@app.command("models")
def models_command() -> None:
    """Say which models a call can name, and which one is the default."""
    table = Table("model", "what it is", box=None, header_style="bold")
    for name, what in registry.KINDS.items():
        table.add_row(name, what)
    console = _console()
    console.print(table)
    console.print(f"\nThe default is {load().model!r}. Change it with --model, RELSERVE_MODEL, or per call:")
    console.print("  SELECT llm('..', x, model := 'http://127.0.0.1:8000/v1')", markup=False)


def main() -> None:
    """Entry point: errors of relserve and DuckDB end as one message, Ctrl-C as status 130."""
    try:
        app()
    except (RelserveError, duckdb.Error) as error:
        sys.stderr.write(f"relserve: {error}\n")
        sys.exit(130 if isinstance(error, (Cancelled, duckdb.InterruptException)) else 1)
    except KeyboardInterrupt:
        sys.stderr.write("relserve: interrupted\n")
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(0)


def _console(stderr: bool = False) -> Console:
    """A console as wide as the terminal; where there is none, wide enough for a table."""
    console = Console(stderr=stderr)
    return console if console.is_terminal else Console(stderr=stderr, width=PLAIN_WIDTH)


def _rows(con: api.Connection, query: str) -> pa.Table:
    relation = con.sql(query)
    assert relation is not None
    return relation.to_arrow_table()


def _write(table: pa.Table, format: Format) -> None:
    if format is Format.table:
        _print_table(_console(), table)
    elif format is Format.csv:
        pyarrow.csv.write_csv(_flat(table), sys.stdout.buffer)
    elif format is Format.json:
        for batch in table.to_batches():
            for row in batch.to_pylist():
                print(json.dumps(row, ensure_ascii=False, default=str))
    else:
        with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as writer:
            writer.write_table(table)


def _flat(table: pa.Table) -> pa.Table:
    """Nested columns as text, which is all that CSV can hold."""
    for i, column in enumerate(table.schema):
        if pa.types.is_nested(column.type):
            texts = [None if v is None else str(v) for v in table.column(i).to_pylist()]
            table = table.set_column(i, column.name, pa.array(texts, pa.string()))
    return table


def _print_table(console: Console, table: pa.Table) -> None:
    shown = Table(header_style="bold")
    for name, column in zip(table.column_names, table.columns, strict=True):
        is_text = pa.types.is_string(column.type)
        side: Literal["left", "right"] = "left" if is_text else "right"
        shown.add_column(name, no_wrap=not is_text, justify=side, min_width=min(len(name), 12))
    for row in zip(*(column.to_pylist() for column in table.slice(0, MAX_ROWS).columns), strict=True):
        shown.add_row(*(_cell(value) for value in row))
    console.print(shown, markup=False)
    if table.num_rows > MAX_ROWS:
        console.print(f"({MAX_ROWS} of {table.num_rows:,} rows shown; --format csv writes all)")


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= MAX_CELL else text[: MAX_CELL - 3] + "..."
