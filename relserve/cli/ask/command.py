"""The arguments and help of `relserve ask`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from relserve.cli.common_options import KeptAnswers, OnlyRead
from relserve.cli.formats import Format
from relserve.cli.loading import loading


def ask_command(
    question: Annotated[
        str | None, typer.Argument(metavar="[QUESTION]", help="In plain words (default: asked for in turn).")
    ] = None,
    db: OnlyRead = None,
    csv: Annotated[
        list[Path] | None,
        typer.Option("--csv", metavar="FILE", help="CSV, Parquet or JSON, as a table; several may be given."),
    ] = None,
    examples: Annotated[bool, typer.Option(help="Ask about the shipped example tables.")] = False,
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="'tiny-sql' (default), a folder, a hub id or a URL."),
    ] = None,
    effort: Annotated[
        str | None, typer.Option(metavar="EFFORT", help="quick, standard (default) or thorough.")
    ] = None,
    candidates: Annotated[
        int | None, typer.Option(metavar="N", help="SQL texts to choose from (by effort: 1, 3, 5).")
    ] = None,
    confirm: Annotated[bool, typer.Option("--confirm/--yes", help="Ask before the SQL runs.")] = False,
    with_llm: Annotated[
        bool,
        typer.Option("--with-llm", help="Where no table knows a word, have a model read the rows' texts."),
    ] = False,
    limits: Annotated[
        bool, typer.Option("--limits/--no-limits", help="End SQL that takes over 10 s, 1 GB or 10,000 rows.")
    ] = True,
    format: Annotated[Format, typer.Option(help="How to write the rows.")] = Format.table,
    stats: Annotated[bool, typer.Option(help="Show llm_steps() on stderr at the end.")] = False,
    cache: KeptAnswers = True,
) -> None:
    """Ask a question about tables: shows the SQL that answers it, and its rows.

    A category and a number in each row make a picture, too. Without a question it asks for one after
    another; each may go on from those before.

    Examples:

    * `relserve ask "How many beers score above 4?" --examples`
    * `relserve ask --csv sales.csv --csv shops.parquet`
    * `relserve ask "Revenue by region?" --db shop.db --effort thorough --confirm`

    A question with a word that no table, column or value knows is refused, with the query in which a model
    reads the rows' texts; --with-llm runs that query.

    Only a single SELECT is ever run. The SQL goes to stderr where --format is for programs.
    """
    with loading():
        from relserve.cli.ask import ask

    held_to = None if limits else "none"
    asked = {"model": model, "effort": effort, "candidates": candidates, "limits": held_to}
    options = {name: value for name, value in asked.items() if value is not None}
    source = ask.QuestionSource(db, tuple(csv or ()), examples)
    ask.run(question, source, options, ask.Manner(confirm, format, stats, with_llm), cache)
