"""`relserve batches`: what was sent as batches, how it stands, and giving it up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from relserve.cache.kept_batches import BatchBook, KeptBatch
from relserve.cli.console import console
from relserve.cli.formats import Format
from relserve.errors import UsageError
from relserve.settings import load

if TYPE_CHECKING:
    from relserve.engines.batch.engine import BatchEngine

app = typer.Typer(invoke_without_command=True, rich_markup_mode="markdown")
Id = Annotated[str, typer.Argument(metavar="BATCH", help="As `relserve batches` shows it: rb-..")]


@app.callback()
def show(
    context: typer.Context,
    format: Annotated[Format, typer.Option(help="How the batches are written.")] = Format.table,
) -> None:
    """Show the batches that were sent, as `FROM llm_batches()` does in SQL; their servers are asked.

    Models named `batch:URL#NAME` are sent their rows as batches: see `docs/batches.md`.

    Examples:

    * `relserve batches`
    * `relserve batches cancel rb-0a1b2c3d4e5f`
    * `relserve batches forget rb-0a1b2c3d4e5f`
    """
    if context.invoked_subcommand is not None:
        return
    from relserve import api  # and DuckDB with it
    from relserve.cli.output import write
    from relserve.session.batches import SentBatches

    write(SentBatches(_book()).table(api.find_engine), format)


@app.command("cancel")
def cancel_command(batch: Id) -> None:
    """Have the server give a batch up; what it answered until then is kept."""
    from relserve import api
    from relserve.engines.loop import spawn

    found = _found(batch)
    engine = cast("BatchEngine", api.find_engine(found.model))
    ended = spawn(engine.cancel(found)).result()
    _say(f"{batch} is {ended.state}: {ended.answered:,} of {ended.rows:,} rows were answered")


@app.command("forget")
def forget_command(batch: Id) -> None:
    """Let the rows of a batch be sent again. If its server still answers them, they are paid for twice."""
    _book().give_up(_found(batch), "it was forgotten by hand", counts_again=True)
    _say(f"{batch} is forgotten: the next statement sends its rows again")


def _book() -> BatchBook:
    return BatchBook(load().cache_dir)


def _found(batch_id: str) -> KeptBatch:
    batches = _book().batches()
    found = next((each for each in batches if each.id == batch_id), None)
    if found is None:
        there = ", ".join(each.id for each in batches if not each.has_ended) or "none"
        raise UsageError(f"no batch {batch_id!r}; those that have not ended: {there}")
    if found.has_ended:
        raise UsageError(f"the batch {batch_id} has ended ({found.state}), and what came of it is kept")
    return found


def _say(text: str) -> None:
    console().print(text, soft_wrap=True)
