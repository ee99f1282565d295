"""Options that several commands take."""

from __future__ import annotations

from typing import Annotated

import typer

Model = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="'tiny', a folder, a hub id or a URL; see `relserve models`."),
]
