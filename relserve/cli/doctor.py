"""`relserve doctor`: one line a check of this machine, with what to do where something is wrong."""

from __future__ import annotations

import json
import sys

import typer
from rich.text import Text

from relserve.checkup.machine import Finding, examine
from relserve.cli.console import console
from relserve.server.options import PORT

WIDTH = 13  # of the checks' names
STYLES = {"ok": "green", "warning": "yellow", "failed": "bold red"}


def run(as_json: bool) -> None:
    """Print each finding as soon as it is known.

    Raises:
        typer.Exit: with status 1 where a check failed.
    """
    screen, failed = console(), False
    for finding in examine(PORT):
        failed = failed or finding.verdict == "failed"
        if as_json:
            sys.stdout.write(json.dumps(finding._asdict(), ensure_ascii=False) + "\n")
        else:
            screen.print(_line(finding), soft_wrap=True)
    if failed:
        raise typer.Exit(1)


def _line(finding: Finding) -> Text:
    line = Text(f"{finding.check:<{WIDTH}} ")
    line.append(f"{finding.verdict:<8}", STYLES[finding.verdict])
    line.append(f" {finding.found}")
    if finding.mend:
        line.append(f"\n{'':{WIDTH}} {'':8} to mend it: {finding.mend}")
    return line
