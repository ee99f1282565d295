"""`relserve models`: which models a call can name, and which one is the default."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from relserve.cli.console import console
from relserve.engines.registry import KINDS
from relserve.settings import load


def run() -> None:
    """Print the forms of a model's name and the default."""
    table = Table("model", "what it is", box=None, header_style="bold")
    for name, what in KINDS.items():
        table.add_row(Text(name), Text(what))
    screen = console()
    screen.print(table)
    screen.print(f"\nThe default is {load().model!r}. Change it with --model, RELSERVE_MODEL, or per call:")
    screen.print("  SELECT llm('..', x, model := 'http://127.0.0.1:8000/v1')", markup=False)
