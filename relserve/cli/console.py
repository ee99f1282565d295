"""The screen that the command line writes to."""

from __future__ import annotations

from rich.console import Console

PLAIN_WIDTH = 140  # columns where the output is not a terminal


def console(stderr: bool = False) -> Console:
    """A console as wide as the terminal; where there is none, wide enough for a table."""
    console = Console(stderr=stderr, emoji=False)
    return console if console.is_terminal else Console(stderr=stderr, emoji=False, width=PLAIN_WIDTH)
