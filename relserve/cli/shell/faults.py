"""Errors as the shell tells them: where DuckDB or relserve knows the place, with a caret under it."""

from __future__ import annotations

import sys
import traceback

import duckdb
from rich.text import Text

from relserve.cli.console import console
from relserve.errors import Cancelled, RelserveError


def is_cancelled(error: BaseException) -> bool:
    """Whether it was Ctrl-C that ended a statement."""
    return isinstance(error, (KeyboardInterrupt, Cancelled, duckdb.InterruptException))


def text_of(error: BaseException) -> str:
    """The message, and where in which script it arose. Of errors nobody foresaw, the traceback."""
    if isinstance(error, (RelserveError, duckdb.Error)):
        return "\n".join([str(error), *getattr(error, "__notes__", ())])
    return "".join(traceback.format_exception(error)).rstrip()


def tell(error: BaseException) -> None:
    """Write an error to stderr; on a terminal its first words and its carets are red."""
    screen = console(stderr=True)
    screen.print(highlighted(text_of(error)), highlight=False, soft_wrap=True)
    sys.stderr.flush()


def highlighted(text: str) -> Text:
    """A message with what to look at first in colour: what kind of error, and the caret's line."""
    shown = Text(text)
    shown.highlight_regex(r"\A[A-Z][\w ]* Error:", "bold red")
    shown.highlight_regex(r"(?m)^ *\^+ *$", "bold red")
    return shown
