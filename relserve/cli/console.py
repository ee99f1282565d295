"""The screen that the command line writes to."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:  # every command imports this file, and few write tables
    from rich.console import Console

PLAIN_WIDTH = 140  # columns where the output is not a terminal


def console(stderr: bool = False, file: TextIO | None = None) -> Console:
    """A console as wide as the terminal; where there is none, wide enough for a table.

    Args:
        stderr: write to stderr.
        file: write to this instead of stdout or stderr.
    """
    from rich.console import Console

    console = Console(stderr=stderr, file=file, emoji=False)
    return (
        console if console.is_terminal else Console(stderr=stderr, file=file, emoji=False, width=PLAIN_WIDTH)
    )
