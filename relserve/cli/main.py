"""The command line: `relserve sql`, `ask`, `evaluate`, `shell`, `explain`, `serve`, `mcp`, `user`, `engine`,
`fleet`, `demo`, `models`, `cache`, `top`, `doctor` and `calibrate`.

Each command imports what it runs when it is called, so that `--help` and `top` need neither DuckDB nor an
HTTP client.
"""

from __future__ import annotations

import errno
import io
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

import relserve
from relserve.cli.ask.command import ask_command
from relserve.cli.batches import app as batches_app
from relserve.cli.cache import app as cache_app
from relserve.cli.calibrate_command import app as calibrate_app
from relserve.cli.common_options import KeptAnswers, Model, WithExamples
from relserve.cli.engine import app as engine_app
from relserve.cli.evaluate_command import evaluate_command
from relserve.cli.fleet import app as fleet_app
from relserve.cli.formats import Format
from relserve.cli.loading import loading
from relserve.cli.mcp_command import mcp_command
from relserve.cli.models import app as models_app
from relserve.cli.serve_command import serve_command
from relserve.cli.user import app as user_app
from relserve.errors import Cancelled, RelserveError, RelserveWarning

app = typer.Typer(
    name="relserve",
    help="LLM functions in SQL, such as llm() and llm_filter(), answered by vLLM or by an LLM server.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.add_typer(batches_app, name="batches")
app.add_typer(cache_app, name="cache")
app.add_typer(models_app, name="models")
app.add_typer(engine_app, name="engine")
app.add_typer(fleet_app, name="fleet")
app.add_typer(user_app, name="user")
app.add_typer(calibrate_app, name="calibrate")

Database = Annotated[Path | None, typer.Option("--db", help="DuckDB database file (default: in memory).")]


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """What `relserve` does before any command."""
    if version:
        import duckdb

        print(f"relserve {relserve.__version__} (duckdb {duckdb.__version__})")
        raise typer.Exit


@app.command("demo")
def demo_command(model: Model = None) -> None:
    """Run the example queries on the shipped tables and show what each cost."""
    with loading():
        from relserve.cli import demo

    demo.run(model)


@app.command("sql")
def sql_command(
    text: Annotated[
        str | None, typer.Argument(help="One or more statements, a .sql file of them, or - for stdin.")
    ] = None,
    db: Database = None,
    model: Model = None,
    format: Annotated[Format, typer.Option(help="How to write the result.")] = Format.table,
    examples: WithExamples = False,
    stats: Annotated[bool, typer.Option(help="Show llm_queries() on stderr at the end.")] = False,
    errors: Annotated[
        bool, typer.Option("--errors", help="Show the failed rows; without TEXT those of the last command.")
    ] = False,
    chart: Annotated[bool, typer.Option("--chart", help="Draw bars, a line or a histogram.")] = False,
    cache: KeptAnswers = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Instead, show what it would ask and cost, as relserve explain.")
    ] = False,
) -> None:
    """Run SQL with llm functions.

    Examples:

    * `relserve sql "SELECT llm('Capital of {}?', c) FROM (VALUES ('France')) t(c)"`
    * `relserve sql --examples "SELECT review, llm_score('Stars? {}', review) FROM reviews LIMIT 5"`
    * `relserve sql --db shop.db --model http://127.0.0.1:8000/v1 --format csv "SELECT .." > out.csv`

    Files are read in place: `FROM 'reviews.csv'`. A failed row is NULL; `relserve sql --errors`, or
    `FROM llm_errors()`, says why. `EXPLAIN SELECT ..` shows what would be asked.
    """
    with loading():
        from relserve.cli import sql

    sql.run(text, db, model, format, examples, stats, cache, errors, chart, dry_run)


app.command("ask")(ask_command)
app.command("evaluate")(evaluate_command)


@app.command("shell")
def shell_command(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="DuckDB database file (default: in memory).")
    ] = None,
    command: Annotated[
        str | None, typer.Option("--command", "-c", metavar="SQL", help="Run this and leave.")
    ] = None,
    model: Model = None,
    format: Annotated[
        Format, typer.Option("--format", help="How to write results at first; .mode changes it.")
    ] = Format.table,
    examples: WithExamples = False,
    cache: KeptAnswers = True,
    install: Annotated[
        bool, typer.Option("--install", help="Instead, compile the extension for the stock duckdb command.")
    ] = False,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where --install puts it.")] = None,
) -> None:
    """Type SQL with llm functions at a prompt.

    With completion, a history, dot commands as DuckDB's shell has them (`.help` lists them), and Ctrl-C to
    cancel a query. Without a terminal, or with -c, it runs a script, up to its first error (status 1).

    Examples:

    * `relserve shell shop.db`
    * `relserve shell --examples --model http://127.0.0.1:8000/v1`
    * `relserve shell shop.db < report.sql > report.txt`
    * `relserve shell --install`: the llm functions in the stock `duckdb` command, too
    """
    if install:
        from relserve.cli import shell_install

        shell_install.run(out)
        return
    with loading():
        from relserve.cli.shell import start

    start.run(file, command, model, format, examples, cache)


app.command("serve")(serve_command)
app.command("mcp")(mcp_command)


@app.command("explain")
def explain_command(
    text: Annotated[str, typer.Argument(help="One statement, a .sql file that holds it, or - for stdin.")],
    db: Database = None,
    model: Model = None,
    examples: WithExamples = False,
    sample: Annotated[
        int, typer.Option(min=0, help="Ask so many prompts of each call, to tell how sure the model is.")
    ] = 0,
) -> None:
    """Show what a statement's llm functions would ask, and about how long that takes.

    The part of the query without llm functions runs, to count the rows that reach them. Nothing but a
    --sample is asked.

    Examples:

    * `relserve explain --examples "SELECT llm_score('Stars? {}', review) FROM reviews"`
    * `relserve explain --db shop.db --model http://127.0.0.1:8000/v1 report.sql`
    """
    with loading():
        from relserve.cli import sql

    sql.explain(text, db, model, examples, sample)


@app.command("top")
def top_command(
    once: Annotated[bool, typer.Option("--once", help="Print the present state and exit.")] = False,
    interval: Annotated[float, typer.Option(min=0.1, help="Seconds from one picture to the next.")] = 1.0,
    json: Annotated[bool, typer.Option("--json", help="Write JSON lines, for programs.")] = False,
) -> None:
    """Show live what every vLLM engine with relserve's scheduler is working on, like top. Ctrl-C ends it.

    Each engine has one block: engines that `relserve sql` and Python scripts started, and servers started by
    `vllm serve MODEL --scheduler-cls relserve.vllm_plugin.scheduler.make`. Each relQuery, that is the rows of
    one llm call, has one line in it, in the order in which they are served:

    * **rows**: answered / in all (distinct prompts; a request of another client of the server counts as a
      relQuery of one row)
    * **phase**: waiting (no row was scheduled yet), core running (not every row has its first token yet),
      tail running (the last rows end)
    * **priority**: the value by which the scheduler orders, lower first; seconds left (`dpu..`), tokens
      (`static..`), 0 for what the guard puts first; empty where the order is that of arrival (`stock`,
      `fcfs..`)
    * **left**: predicted time until its end if it had the engine to itself; under `stock`, if it goes on as
      so far
    * **since arrival**: time since its first row came

    Examples:

    * `relserve top`
    * `relserve top --once --json | jq '.engines[].rels[].rel_id'`
    * `watch -n 5 relserve top --once`

    Engines of other users, or with another RELSERVE_CACHE_DIR, are not seen.
    """
    from relserve.cli import top

    top.run(once=once, interval_s=interval, as_json=json)


@app.command("doctor")
def doctor_command(
    json: Annotated[bool, typer.Option("--json", help="Write a line of JSON a check, for programs.")] = False,
) -> None:
    """Look at this machine, a line a check: versions, GPU, memory, ports, cache, model. Starts nothing.

    Each line is ok, a warning or failed, and says how to mend it. The status is 1 where a check failed.

    Examples:

    * `relserve doctor`
    * `RELSERVE_MODEL=http://127.0.0.1:8000/v1 relserve doctor`: asks that server for its models, too
    * `relserve doctor --json | jq 'select(.verdict != "ok")'`
    """
    from relserve.cli import doctor

    doctor.run(json)


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_show_other_warning = warnings.showwarning


def main() -> None:
    """Entry point: errors of relserve, DuckDB and full disks end as one message, Ctrl-C as status 130."""
    warnings.simplefilter("always", RelserveWarning)
    warnings.showwarning = _show_warning
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stderr.write("relserve: interrupted\n")
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(0)
    except OSError as error:
        if error.errno not in _FULL:
            raise
        sys.stdout = io.StringIO()  # Python would write what is left of it once more at its end
        where = error.filename or "the output"
        sys.stderr.write(f"relserve: {where} cannot be written: {error.strerror}; write it to another disk\n")
        sys.exit(1)
    except Exception as error:
        import duckdb

        if not isinstance(error, (RelserveError, duckdb.Error)):
            raise
        sys.stderr.write(f"relserve: {error}\n")
        sys.exit(130 if isinstance(error, (Cancelled, duckdb.InterruptException)) else 1)


def _show_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    """One line, without the line of our source that Python would add."""
    if issubclass(category, RelserveWarning):
        sys.stderr.write(f"relserve: {message}\n")
    else:
        _show_other_warning(message, category, *where, **more)
