"""How `relserve shell` begins: with a prompt on a terminal, else with a script."""

from __future__ import annotations

import io
import sys
from functools import partial
from pathlib import Path

import typer

from relserve.cli.failed_rows import kept_for_the_next
from relserve.cli.formats import BYTES, Format
from relserve.cli.interrupted import STOPPED
from relserve.cli.shell.display import Display
from relserve.cli.shell.faults import text_of
from relserve.cli.shell.interpreter import lines_of, run_lines
from relserve.cli.shell.shell import Leave, Shell
from relserve.cli.sql import connect
from relserve.errors import UsageError


def run(
    database: Path | None, command: str | None, model: str | None, format: Format, examples: bool, cache: bool
) -> None:
    """Open a shell.

    Args:
        database: the DuckDB file; None for one in memory.
        command: statements and dot commands to run instead of asking for them.
        examples: put the shipped tables on every connection.
        cache: use kept answers, and keep new ones.

    Raises:
        UsageError: the format is one for a single result.
        typer.Exit: with status 1, after an error in a script.
    """
    if format in BYTES:
        raise UsageError(
            f"--format {format} holds one result, not those of a shell: relserve sql --format {format}, or "
            "COPY (SELECT ..) TO 'file.parquet'"
        )
    is_interactive = command is None and sys.stdin.isatty() and sys.stdout.isatty()
    open_database = partial(connect, model=model, examples=examples, cache=cache)
    shell = Shell(open_database, database, Display(format, pager=is_interactive), is_interactive)
    try:
        if is_interactive:
            from relserve.cli.shell import repl

            repl.run(shell, model)
        else:
            with kept_for_the_next(shell.con.session.history):
                _run_script(shell, command)
    finally:
        shell.close()


def _run_script(shell: Shell, command: str | None) -> None:
    try:
        if command is not None:
            run_lines(shell, io.StringIO(command), "-c")
        else:
            run_lines(shell, lines_of(sys.stdin.buffer, "stdin"), "stdin")
    except Leave:
        return
    except Exception as error:
        if isinstance(error, (*STOPPED, BrokenPipeError)):
            raise
        sys.stdout.flush()
        sys.stderr.write(f"relserve: {text_of(error)}\n")
        raise typer.Exit(1) from error
