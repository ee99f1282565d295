"""`relserve fleet`: several engines that answer as one; what the commands do is in `fleet_control.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Start, look at, drain and stop the engines of a fleet, which a TOML file names (docs/fleet.md).",
    no_args_is_help=True,
    rich_markup_mode="markdown",
)

File = Annotated[Path, typer.Argument(metavar="FILE", help="The fleet's file.")]
Members = Annotated[list[str], typer.Argument(metavar="MEMBER..", help="By their names in the file.")]


@app.command("up")
def up_command(file: File) -> None:
    """Start the fleet's process and its members, and wait until each is up or has failed once.

    Whoever names the model `fleet:FILE` starts it, too. It ends after RELSERVE_ENGINE_IDLE_MIN minutes
    without work. Status 1 where no member came up.

    Examples:

    * `relserve fleet up fleet.toml`
    * `relserve sql --model fleet:fleet.toml "SELECT llm('Capital of {}?', c) FROM (VALUES ('France')) t(c)"`
    """
    from relserve.cli import fleet_control

    fleet_control.up(file)


@app.command("status")
def status_command(
    file: File,
    json: Annotated[bool, typer.Option("--json", help="Write one JSON object, for programs.")] = False,
) -> None:
    """Show the members: their state, what they have and have answered, and why they were chosen last."""
    from relserve.cli import fleet_control

    fleet_control.show(file, json)


@app.command("drain")
def drain_command(file: File, members: Members) -> None:
    """Give members nothing new; what they have they answer. A member without rows can be taken down."""
    from relserve.cli import fleet_control

    fleet_control.tell(file, "drain", members)


@app.command("resume")
def resume_command(file: File, members: Members) -> None:
    """Give drained members rows again; try those again that were left out."""
    from relserve.cli import fleet_control

    fleet_control.tell(file, "resume", members)


@app.command("down")
def down_command(file: File) -> None:
    """Stop the fleet's process, and the members that it started; what it works on ends with an error."""
    from relserve.cli import fleet_control

    fleet_control.down(file)
