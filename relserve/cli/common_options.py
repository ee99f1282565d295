"""Options that several commands take."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from relserve.errors import UsageError

Model = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="'tiny', a folder, a hub id or a URL; see `relserve models`."),
]

# What agents may take; see `ToolLimits`.
ShownRows = Annotated[int, typer.Option(min=1, help="Rows of a result that an agent is shown at most.")]
WorkSeconds = Annotated[
    float, typer.Option(min=0.1, help="Longest work of DuckDB for a call of an agent, without the model's.")
]
AskedRows = Annotated[int, typer.Option(min=0, help="Rows that a call of an agent may ask a model about.")]
AskedTokens = Annotated[
    int | None, typer.Option(min=0, help="Tokens that a call of an agent may take (default: any).")
]
AskedCost = Annotated[
    float | None, typer.Option(min=0, help="US dollars that a call of an agent may cost (default: any).")
]
CallsAtOnce = Annotated[int, typer.Option(min=1, help="Calls that a user's agents may have under way.")]
CallsPerMinute = Annotated[int, typer.Option(min=1, help="Calls that a user's agents may make in a minute.")]

# Of commands that ask about the rows of a database, or of labelled rows.
OnlyRead = Annotated[Path | None, typer.Option("--db", help="DuckDB database file; it is only read.")]
WithExamples = Annotated[bool, typer.Option(help="With the shipped example tables.")]
KeptAnswers = Annotated[bool, typer.Option(help="Use kept answers, and keep new ones.")]
FunctionOptions = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Of the function, such as deadline=60; several may be given."),
]
NumRows = Annotated[
    int | None, typer.Option(min=1, help="Ask so many, drawn at random (default: all with a label).")
]
Seed = Annotated[int, typer.Option(help="Of the draw.")]

# Of commands that serve.
at_port = partial(typer.Option, min=0, max=65535, metavar="PORT")
TlsCert = Annotated[Path | None, typer.Option(metavar="FILE", help="Certificate, for TLS.")]
TlsKey = Annotated[Path | None, typer.Option(metavar="FILE", help="Its private key.")]
OnlyGranted = Annotated[
    bool, typer.Option("--only-granted", help="Users reach only what they own or were granted.")
]


def see_that_none_is_idle(context: typer.Context, needed: Mapping[str, str]) -> None:
    """See that options which mean something beside another alone are given beside it.

    Args:
        needed: names of parameters, and of the one that each needs.

    Raises:
        UsageError: one was typed without the one that it needs; an environment variable may always be set.
    """
    for name, other in needed.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE" and context.params[other] is None:
            told, wanted = (f"--{each.replace('_', '-')}" for each in (name, other))
            raise UsageError(f"{told} does nothing without {wanted}: give {wanted}, too")
