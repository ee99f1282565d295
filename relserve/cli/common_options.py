"""Options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="'tiny', a folder, a hub id or a URL; see `relserve models`."),
]

# Of commands that ask about the rows of a database, or of labelled rows.
OnlyRead = Annotated[Path | None, typer.Option("--db", help="DuckDB database file; it is only read.")]
WithExamples = Annotated[bool, typer.Option(help="With the shipped example tables.")]
NumRows = Annotated[
    int | None, typer.Option(min=1, help="Ask so many, drawn at random (default: all with a label).")
]
Seed = Annotated[int, typer.Option(help="Of the draw.")]
