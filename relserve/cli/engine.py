"""`relserve engine`: the shared engines of this user; what the commands do is in `engine_control.py`."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(
    help="Start, stop and look at the shared engines, one a model, that this user's processes use together.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

Model = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="'tiny', a folder or a hub id (default: the default model)."),
]


@app.command("start")
def start_command(
    model: Model = None,
    print_socket: Annotated[
        bool, typer.Option("--print-socket", help="Write the path of its socket to stdout, and nothing else.")
    ] = False,
) -> None:
    """Start a model's shared engine if it is not up, and wait until it is.

    `relserve sql` and `explain` start it by themselves, and so does Python with RELSERVE_ENGINE=shared. It
    ends after RELSERVE_ENGINE_IDLE_MIN minutes without work. The environment of whoever starts it holds:
    RELSERVE_ENGINE_ARGS, and the variables of vLLM.

    Examples:

    * `relserve engine start`
    * `RELSERVE_ENGINE_ARGS='{"max_model_len": 8192}' relserve engine start --model ~/models/qwen`
    """
    from relserve.cli import engine_control

    engine_control.start(model, print_socket)


@app.command("stop")
def stop_command(
    model: Model = None,
    every: Annotated[bool, typer.Option("--all", help="All shared engines of this user.")] = False,
) -> None:
    """Stop a model's shared engine at once; what it works on ends with an error.

    Answers that have come are kept: the same statement asks only the others.
    """
    from relserve.cli import engine_control

    engine_control.stop(model, every)


@app.command("status")
def status_command(
    json: Annotated[bool, typer.Option("--json", help="Write one JSON object a line, for programs.")] = False,
) -> None:
    """Show the shared engines of this user; `relserve top` shows what they work on."""
    from relserve.cli import engine_control

    engine_control.show(json)


@app.command("logs")
def logs_command(
    model: Model = None,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, help="How many, from the end.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as it grows, until Ctrl-C.")] = False,
) -> None:
    """Show the end of the log of a model's engines."""
    from relserve.cli import engine_control

    engine_control.show_log(model, lines, follow)
