"""`relserve sql` and `relserve explain`: a text of SQL runs, or EXPLAIN says what it would ask."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from relserve import api
from relserve.cli import demo, failed_rows
from relserve.cli.chart import chart_of
from relserve.cli.console import console
from relserve.cli.databases import check_database, missing_tables_told, none_left_empty
from relserve.cli.formats import Format
from relserve.cli.interrupted import told_when_interrupted
from relserve.cli.output import print_table, write
from relserve.cli.spending_question import ask_before_spending
from relserve.errors import UsageError
from relserve.session.history import History
from relserve.settings import prefer_shared


def run(
    text: str | None, db: Path | None, model: str | None, format: Format, examples: bool, stats: bool,
    cache: bool, errors: bool = False, chart: bool = False, dry_run: bool = False,
) -> None:  # fmt: skip
    """Run statements and write the last one's result to stdout.

    Args:
        text: the SQL, the name of a .sql file, or "-" for stdin.
        db: the database's file; None for one in memory.
        examples: put the shipped tables on the connection.
        stats: write llm_queries() to stderr at the end.
        cache: use kept answers, and keep new ones.
        errors: write the failed rows to stderr at the end; without a text, to stdout those of the last
            command that had some.
        dry_run: instead, print what the statement would ask and cost, as `explain` does.
        chart: draw the result, too: below the table, or on stderr where the format is for programs.

    Raises:
        UsageError: there is no text, or it cannot be read.
    """
    if text is None:
        if not errors:
            raise UsageError("what is to run? Give SQL, a .sql file, or - for stdin; --errors needs none")
        _show_kept(format)
        return
    if dry_run:
        explain(text, db, model, examples)
        return
    query = text_of(text)
    with _opened(db, query, model, examples, cache) as con:
        history = con.session.history
        if "llm_errors" in query.lower():
            failed_rows.recall(history)
        with told_when_interrupted(con.session), failed_rows.kept_for_the_next(history):
            relation = con.sql(query)
            if relation is not None:
                rows = relation.to_arrow_table()
                write(rows, format)
                if chart:
                    console(stderr=format is not Format.table).print(chart_of(rows))
        if errors and history.errors():
            print_table(console(stderr=True), failed_rows.table(history))
        elif errors:
            sys.stderr.write("relserve: no row failed\n")
        if stats:
            print_table(console(stderr=True), demo.rows(con, demo.STATS))


def _show_kept(format: Format) -> None:
    """Write the failed rows of the last command that had some."""
    history = History()
    if not failed_rows.recall(history):
        sys.stderr.write("relserve: no failed rows are kept of earlier commands\n")
        return
    write(failed_rows.table(history, statement=0), format)


def explain(text: str, db: Path | None, model: str | None, examples: bool, sample: int = 0) -> None:
    """Print what a statement's llm calls would ask; arguments as for `run` and `Connection.explain_llm`."""
    query = text_of(text)
    with _opened(db, query, model, examples, cache=True) as con:
        found = con.explain_llm(query, sample=sample)
        console().print(str(found), soft_wrap=True)


@contextmanager
def _opened(
    db: Path | None, query: str, model: str | None, examples: bool, cache: bool
) -> Iterator[api.Connection]:
    """The connection of a command that runs a text; raises as `check_database` and `missing_tables_told`."""
    check_database(db, query)
    with (
        none_left_empty(db),
        missing_tables_told(db, examples),
        connect(db, model, examples, cache) as con,
    ):
        yield con


def text_of(text: str) -> str:
    """SQL given as an argument: the text itself, a .sql file's, or what comes on stdin.

    Raises:
        UsageError: the file cannot be read, or is not UTF-8.
    """
    if text != "-" and not text.endswith(".sql"):
        return text
    where = "stdin" if text == "-" else text
    try:
        return sys.stdin.read() if text == "-" else Path(text).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {where}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise not_utf8(where, error, error.object.count(b"\n", 0, error.start) + 1) from error


def not_utf8(where: str, error: UnicodeDecodeError, line: int) -> UsageError:
    """The error of a text that is not UTF-8."""
    return UsageError(
        f"cannot read {where}: byte 0x{error.object[error.start]:02x} in line {line} is not UTF-8; "
        "save it as UTF-8, or convert it: iconv -f LATIN1 -t UTF-8"
    )


def connect(db: Path | None, model: str | None, examples: bool, cache: bool) -> api.Connection:
    """Open a database for the command line, with the shipped tables on it where they are wanted."""
    prefer_shared()
    con = api.connect(str(db) if db else ":memory:", model=model, cache=cache)
    con.raw.execute("SET enable_progress_bar = false")  # DuckDB writes its bar between the rows on stdout
    con.raw.execute("SET python_enable_replacements = false")  # FROM x is no variable of this program
    if examples:
        demo.prepare(con)
    ask_before_spending(con, model)
    return con
