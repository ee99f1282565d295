"""The screen that the command line writes to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:  # every command imports this file, and few write tables
    from rich.console import Console

PLAIN_WIDTH = 140  # columns where the output is not a terminal


def console(stderr: bool = False, file: TextIO | None = None) -> Console:
    """A console as wide as the terminal; where there is none, wide enough for a table. No markup.

    Args:
        stderr: write to stderr.
        file: write to this instead of stdout or stderr.
    """
    from rich.console import Console

    own: dict[str, Any] = dict(stderr=stderr, file=file, emoji=False, markup=False, highlight=False)
    console = Console(**own)
    return console if console.is_terminal else Console(**own, width=PLAIN_WIDTH)


def confirmed(question: str, default: bool) -> bool:
    """What somebody at the terminal says; no where nobody can."""
    from rich.prompt import Confirm

    try:
        return Confirm.ask(question, console=console(stderr=True), default=default)
    except EOFError:
        return False
